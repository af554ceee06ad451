//! `task_instance_history`: earlier tries of task instances.

use uuid::Uuid;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Keeps the current try of a task instance as one that failed. False if the history has this try already.
pub async fn archive(tx: &mut Tx, id: Uuid) -> Result<bool, Error> {
    Ok(tx.execute(sql!("task_instance_history/insert"), binds![id]).await? == 1)
}
