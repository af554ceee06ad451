//! Whether a DAG can be run as its file says.

use ferroflow_db::{Db, dag};

use super::find_row;
use crate::OperationError;

/// The row of a DAG that its file still has, and that can be imported.
pub async fn find_usable(db: &Db, dag_id: &str) -> Result<dag::Dag, OperationError> {
    let row = find_row(db, dag_id).await?;
    if row.has_import_errors == Some(true) {
        let message = format!(
            "the file of DAG {dag_id:?} cannot be imported; `ferroflow dags list-import-errors` tells why"
        );
        return Err(OperationError::conflict("import_errors", message));
    }
    if row.is_stale {
        let file = row.fileloc.as_deref().unwrap_or_default();
        let message = format!("DAG {dag_id:?} is not in its file {file} any more, nor in another one");
        return Err(OperationError::not_found(message));
    }
    Ok(row)
}
