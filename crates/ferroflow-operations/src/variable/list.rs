use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::variable::{self, Variable};

use crate::{OperationError, Operations};

/// All variables of the database, in the order in which they were made.
pub async fn list(operations: &Operations) -> Result<Vec<Variable>, OperationError> {
    let fernet = &operations.secrets.fernet;
    Ok(operations.db.read(|tx| async move { variable::all(tx, fernet).await }.scope_boxed()).await?)
}

/// The names of all, in order. Nothing is decrypted.
pub async fn names(operations: &Operations) -> Result<Vec<String>, OperationError> {
    let all = operations.db.read(|tx| async move { variable::keys(tx, "", i64::MAX, 0).await }.scope_boxed());
    Ok(all.await?.1)
}
