//! An asset is updated: a run is made of the DAG that has a task which does so.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::asset::list::{Which, producers};
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::deadline::missed::{self, UsedVersion};
use ferroflow_model::state::RunType;

use super::find::{AMBIGUOUS, find, words};
use crate::dag::{self, StoredDag};
use crate::dag_run::{TriggerRequest, trigger_from};
use crate::{AuditAction, OperationError, Operations};

pub const MATERIALIZE: AuditAction<'static> = AuditAction::named("asset_materialize");

/// The run that updates an asset.
pub struct Materialized {
    pub stored: StoredDag,
    pub run: DagRun,
    /// The versions of the DAG that its task instances were made from.
    pub versions: Vec<UsedVersion>,
}

/// Makes a run of the one DAG that has a task with this asset among its outlets. Schedulers are notified.
pub async fn materialize(operations: &Operations, which: Which<'_>) -> Result<Materialized, OperationError> {
    operations.audit(&MATERIALIZE).await;
    let dag_id = producer(operations, which).await?;
    let db = &operations.db;
    let stored = dag::find(db, &dag_id).await?;
    let request = TriggerRequest { dag_id, ..TriggerRequest::default() };
    let run = trigger_from(operations, &stored, &request, RunType::AssetMaterialization).await?;
    let of_run = &run;
    let versions = db.read(|tx| async move { missed::versions(tx, of_run).await }.scope_boxed()).await?;
    Ok(Materialized { stored, run, versions })
}

async fn producer(operations: &Operations, which: Which<'_>) -> Result<String, OperationError> {
    let read = operations.db.read(|tx| async move { producers(tx, which).await }.scope_boxed());
    let mut found = read.await?;
    match found.as_slice() {
        [] => {
            let there = find(operations, which).await?;
            Err(OperationError::not_found(format!(
                "no task of any DAG updates asset {}: none has it among its outlets",
                there.name
            )))
        }
        [_] => Ok(found.remove(0)),
        several => Err(OperationError::conflict(
            AMBIGUOUS,
            format!(
                "more than one DAG materializes the asset with {}: {}; `ferroflow dags trigger` runs one of them",
                words(which),
                several.join(", ")
            ),
        )),
    }
}
