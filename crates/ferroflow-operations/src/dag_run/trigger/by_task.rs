//! Runs that running tasks ask for.

use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{ScopedFutureExt as _, dag, dag_run, task_instance};
use ferroflow_model::state::{RunType, TriggeredBy};
use uuid::Uuid;

use super::make::{RunSource, exists, make};
use super::{RequestedRun, checks};
use crate::OperationError;
use crate::dag::StoredDag;
use crate::dag_run::RunMaking;
use crate::secrets::Secrets;

/// Makes a run that the task instance `caller` asks for, with all of its first task instances. Whose run the caller's is
/// has asked for this one, too.
pub async fn trigger_by_task(
    secrets: &Secrets,
    making: &RunMaking,
    request: &RequestedRun,
    caller: Uuid,
) -> Result<(), OperationError> {
    let (dag_id, run_id) = (request.dag_id.as_str(), request.run_id.as_str());
    let read = secrets.db.read(|tx| {
        async move {
            let row = dag::find(tx, dag_id).await?;
            let serialized = serialized_dag::latest(tx, dag_id).await?;
            let is_there = dag_run::lookup::id(tx, dag_id, run_id).await?.is_some();
            let run = match task_instance::find(tx, caller).await? {
                Some(caller) => dag_run::find(tx, &caller.key.dag_id, &caller.key.run_id).await?,
                None => None,
            };
            Ok((row, serialized, is_there, run.and_then(|run| run.triggering_user_name)))
        }
        .scope_boxed()
    });
    let (row, serialized, is_there, user) = read.await?;
    let row = checks::may_run(dag_id, row)?;
    checks::run_type(&row, RunType::OperatorTriggered, "operator-triggered")?;
    if is_there && serialized.is_some() {
        return Err(exists(dag_id, run_id));
    }
    let stored = StoredDag::of(row, serialized)?;
    let source =
        RunSource { run_type: RunType::OperatorTriggered, triggered_by: TriggeredBy::Operator, user };
    make(secrets, making, &stored, request, source).await
}
