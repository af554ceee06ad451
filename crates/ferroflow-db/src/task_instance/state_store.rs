//! `task_state_store`: what a task keeps for its own later tries.

use jiff::Timestamp;

use crate::statement::{Bind, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Json, Tx};

/// The value under a key. One that has expired is there until it is cleaned up, as in Airflow.
pub async fn find(tx: &mut Tx, of: &TaskInstanceKey, key: &str) -> Result<Option<String>, Error> {
    let row = tx.fetch_optional(sql!("task_state_store/find"), with_key(of, key)).await?;
    row.map(|row| row.get("value")).transpose()
}

/// Keeps a value, whatever was kept under its key. False if there is no such run.
pub async fn set(
    tx: &mut Tx,
    of: &TaskInstanceKey,
    key: &str,
    value: &Json,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, Error> {
    let Some(dag_run_id) = crate::dag_run::lookup::id(tx, &of.dag_id, &of.run_id).await? else {
        return Ok(false);
    };
    let binds = binds![
        dag_run_id,
        of.task_id.as_str(),
        of.map_index,
        key,
        of.dag_id.as_str(),
        of.run_id.as_str(),
        value.text(),
        now,
        expires_at,
    ];
    tx.execute(sql!("task_state_store/set"), binds).await?;
    Ok(true)
}

/// Drops the value under a key, if there is one.
pub async fn delete(tx: &mut Tx, of: &TaskInstanceKey, key: &str) -> Result<(), Error> {
    tx.execute(sql!("task_state_store/delete"), with_key(of, key)).await?;
    Ok(())
}

/// Drops everything that a task instance keeps.
pub async fn clear(tx: &mut Tx, of: &TaskInstanceKey) -> Result<(), Error> {
    tx.execute(sql!("task_state_store/clear"), instance(of)).await?;
    Ok(())
}

fn with_key(of: &TaskInstanceKey, key: &str) -> Vec<Bind> {
    let mut binds = instance(of);
    binds.push(Bind::from(key));
    binds
}

fn instance(of: &TaskInstanceKey) -> Vec<Bind> {
    binds![of.dag_id.as_str(), of.run_id.as_str(), of.task_id.as_str(), of.map_index]
}
