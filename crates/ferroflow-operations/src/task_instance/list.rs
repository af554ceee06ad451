//! The task instances of a run.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::task_instance::siblings::{self, Sibling};

use crate::dag::find_row;
use crate::dag_run::{self, RunName};
use crate::{OperationError, Operations};

/// A run, and its task instances.
pub async fn list(
    operations: &Operations,
    run: RunName<'_>,
) -> Result<(DagRun, Vec<Sibling>), OperationError> {
    find_row(&operations.db, run.dag_id).await?;
    let run = dag_run::find(operations, run).await?;
    let (dag_id, run_id) = (run.dag_id.as_str(), run.run_id.as_str());
    let read =
        operations.db.read(|tx| async move { siblings::of_run(tx, dag_id, run_id).await }.scope_boxed());
    let instances = read.await?;
    Ok((run, instances))
}
