use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection::{self, StoredConnection};

use crate::{OperationError, Operations};

/// All connections of the database, in the order in which they were made.
pub async fn list(operations: &Operations) -> Result<Vec<StoredConnection>, OperationError> {
    let fernet = &operations.secrets.fernet;
    Ok(operations.db.read(|tx| async move { connection::all(tx, fernet).await }.scope_boxed()).await?)
}

/// The names and types of all. Nothing is decrypted.
pub async fn names(operations: &Operations) -> Result<Vec<(String, String)>, OperationError> {
    Ok(operations.db.read(|tx| async move { connection::names(tx).await }.scope_boxed()).await?)
}
