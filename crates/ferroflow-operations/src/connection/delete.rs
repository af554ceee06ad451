use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection;

use super::unknown;
use crate::{AuditAction, OperationError, Operations};

pub async fn delete(operations: &Operations, conn_id: &str) -> Result<(), OperationError> {
    operations.audit(&AuditAction::named("connections_delete")).await;
    let deleted =
        operations.db.transact(|tx| async move { connection::delete(tx, conn_id).await }.scope_boxed());
    if deleted.await? { Ok(()) } else { Err(unknown(operations, conn_id).await) }
}
