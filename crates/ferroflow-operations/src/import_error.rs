//! DAG files that could not be imported.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::import_error;
pub use ferroflow_db::import_error::ImportErrorRow;

use crate::{OperationError, Operations};

/// The errors that the database knows of, the oldest row first.
pub async fn list(operations: &Operations) -> Result<Vec<ImportErrorRow>, OperationError> {
    Ok(operations.db.read(|tx| async move { import_error::list(tx).await }.scope_boxed()).await?)
}
