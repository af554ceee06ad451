use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::variable;

use crate::{AuditAction, OperationError, Operations};

/// Deletes a variable that belongs to no team. False if there is none.
pub async fn delete(operations: &Operations, key: &str) -> Result<bool, OperationError> {
    operations.audit(&AuditAction::named("variables_delete")).await;
    let deleted = operations
        .db
        .transact(|tx| async move { variable::delete_visible(tx, key, None).await }.scope_boxed());
    Ok(deleted.await?)
}
