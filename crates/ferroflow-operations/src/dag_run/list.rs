//! The runs of a DAG.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::dag_run::list::{self as rows, Filter};

use crate::dag::find_row;
use crate::{OperationError, Operations};

/// Those that fit a filter, the latest first.
pub async fn list(operations: &Operations, filter: &Filter) -> Result<Vec<DagRun>, OperationError> {
    find_row(&operations.db, &filter.dag_id).await?;
    Ok(operations.db.read(|tx| async move { rows::list(tx, filter).await }.scope_boxed()).await?)
}
