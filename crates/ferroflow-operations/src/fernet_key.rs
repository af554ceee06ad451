//! The keys that secrets are encrypted with.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::encoding::fernet_rotation;
pub use ferroflow_db::encoding::fernet_rotation::Rotated;

use crate::{OperationError, Operations};

/// Encrypts all secrets of the database anew, with the first key of `[core] fernet_key`.
pub async fn rotate(operations: &Operations) -> Result<Vec<Rotated>, OperationError> {
    let fernet = &operations.secrets.fernet;
    if !fernet.is_encrypting() {
        return Err(OperationError::refused(
            "no_key",
            "[core] fernet_key is empty; set it to the new key, a comma, and the old key",
        ));
    }
    let db = &operations.db;
    Ok(db.transact(|tx| async move { fernet_rotation::rotate_all(tx, fernet).await }.scope_boxed()).await?)
}
