//! `task_map`: how many copies of the tasks behind it the value of a task makes.

use crate::statement::{binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Json, Tx};

/// Notes how long the value of a task instance is, whatever was noted before.
pub async fn set(tx: &mut Tx, of: &TaskInstanceKey, length: i64) -> Result<(), Error> {
    let (dag_id, task_id, run_id) = (of.dag_id.as_str(), of.task_id.as_str(), of.run_id.as_str());
    let binds = binds![dag_id, task_id, run_id, of.map_index, length, Json::null()];
    tx.execute(sql!("task_map/set"), binds).await?;
    Ok(())
}

/// How long the value of a task instance is, if that was noted.
pub async fn find(tx: &mut Tx, of: &TaskInstanceKey) -> Result<Option<i64>, Error> {
    let binds = binds![of.dag_id.as_str(), of.task_id.as_str(), of.run_id.as_str(), of.map_index];
    tx.fetch_optional(sql!("task_map/find"), binds).await?.map(|row| row.get("length")).transpose()
}
