//! One task instance, run by itself: nothing that it depends on is looked at.

use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_model::readiness::InstanceRef;
use ferroflow_python::task_instances::Occasion;
use jiff::Timestamp;

use crate::Error;
use crate::create_run::{Origin, fresh, numbered};
use crate::run::{ActiveRun, RunSettings};

/// Queues an instance for a new try, whatever state it is in, and returns its row. One with a map index that is not there
/// yet is made. `None` if the DAG has no such task.
pub async fn queue_one(
    db: &Db,
    run_settings: &RunSettings,
    run: &mut ActiveRun,
    task_id: &str,
    map_index: i32,
    now: Timestamp,
) -> Result<Option<TaskInstance>, Error> {
    let Some(task) = run.definition.dag().find(task_id) else { return Ok(None) };
    let reference = InstanceRef { task, map_index };
    if run.seen(reference).is_none() {
        make(db, run_settings, run, reference, now).await?;
        run.reload(db, run_settings, now).await?;
    }
    run.queue_anew(db, run_settings, reference, now).await
}

async fn make(
    db: &Db,
    run_settings: &RunSettings,
    run: &ActiveRun,
    reference: InstanceRef,
    now: Timestamp,
) -> Result<(), Error> {
    let carrier = run.row.context_carrier.clone().unwrap_or_else(|| serde_json::json!({}));
    let origin = Origin {
        dag_id: &run.row.dag_id,
        run_id: &run.row.run_id,
        unixname: &run_settings.unixname,
        carrier: &carrier,
        version: run.definition.version,
    };
    let weight = &run.definition.weights[reference.task.position()];
    let template = fresh(&run.definition.dag()[reference.task], weight, &origin, now);
    let made = vec![numbered(&template, reference.map_index, now)];
    let (made, _) = &run.ask(run_settings, Occasion::Created, made, Vec::new()).await?;
    db.transact(|tx| async move { task_instance::insert_many(tx, made).await }.scope_boxed()).await?;
    Ok(())
}
