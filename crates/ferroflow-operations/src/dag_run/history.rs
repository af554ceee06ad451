//! How runs went.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::history::{self as rows, PastRun, TaskCount, Try};

use super::{RunName, find};
use crate::dag::{self, StoredDag};
use crate::{OperationError, Operations};

/// The newest runs of a DAG, and how many instances of each task are in which state.
pub struct RunHistory {
    pub stored: StoredDag,
    pub runs: Vec<PastRun>,
    pub counts: Vec<TaskCount>,
}

/// One run, and every try of its task instances.
pub struct RunTries {
    pub stored: StoredDag,
    pub run: PastRun,
    pub tries: Vec<Try>,
}

pub async fn newest_runs(
    operations: &Operations,
    dag_id: &str,
    limit: u32,
) -> Result<RunHistory, OperationError> {
    let stored = dag::find(&operations.db, dag_id).await?;
    let read = operations.db.read(|tx| {
        async move {
            let runs = rows::newest_runs(tx, dag_id, limit).await?;
            let names: Vec<&str> = runs.iter().map(|run| run.run_id.as_str()).collect();
            let counts = rows::task_counts(tx, dag_id, &names).await?;
            Ok((runs, counts))
        }
        .scope_boxed()
    });
    let (runs, counts) = read.await?;
    Ok(RunHistory { stored, runs, counts })
}

/// The run of that name, or the newest of the DAG.
pub async fn tries(
    operations: &Operations,
    dag_id: &str,
    name: Option<RunName<'_>>,
) -> Result<RunTries, OperationError> {
    let stored = dag::find(&operations.db, dag_id).await?;
    let run = match name {
        Some(name) => find(operations, name).await?.into(),
        None => newest(operations, dag_id).await?,
    };
    let run_id = run.run_id.as_str();
    let read = operations.db.read(|tx| async move { rows::tries(tx, dag_id, run_id).await }.scope_boxed());
    let tries = read.await?;
    Ok(RunTries { stored, run, tries })
}

async fn newest(operations: &Operations, dag_id: &str) -> Result<PastRun, OperationError> {
    let read = operations.db.read(|tx| async move { rows::newest_runs(tx, dag_id, 1).await }.scope_boxed());
    read.await?.into_iter().next().ok_or_else(|| {
        let message = format!("DAG {dag_id:?} has no runs; `ferroflow dags trigger {dag_id}` makes one");
        OperationError::not_found(message)
    })
}
