//! `rendered_task_instance_fields`: the templates of a task instance, as they were rendered.

use crate::statement::{binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Json, Tx};

/// Keeps what was rendered, in place of what an earlier try left.
pub async fn set(tx: &mut Tx, of: &TaskInstanceKey, fields: &Json) -> Result<(), Error> {
    let binds =
        binds![of.dag_id.as_str(), of.task_id.as_str(), of.run_id.as_str(), of.map_index, fields.clone(),];
    tx.execute(sql!("rendered_task_instance_fields/set"), binds).await?;
    Ok(())
}

/// Drops what a task left in other runs than the latest so many of its DAG.
pub async fn prune(tx: &mut Tx, dag_id: &str, task_id: &str, runs: u32) -> Result<(), Error> {
    let binds = binds![dag_id, task_id, dag_id, i64::from(runs)];
    tx.execute(sql!("rendered_task_instance_fields/prune"), binds).await?;
    Ok(())
}
