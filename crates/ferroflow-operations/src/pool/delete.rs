use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::pool::{self, DEFAULT_POOL};

use super::{list, unknown};
use crate::{AuditAction, OperationError, Operations};

pub async fn delete(operations: &Operations, name: &str) -> Result<(), OperationError> {
    operations.audit(&AuditAction::named("pool_delete")).await;
    if name == DEFAULT_POOL {
        return Err(OperationError::refused("default_pool", format!("{DEFAULT_POOL} cannot be deleted")));
    }
    if operations.db.transact(|tx| async move { pool::delete(tx, name).await }.scope_boxed()).await? {
        return Ok(());
    }
    Err(unknown(name, &list(operations).await?))
}
