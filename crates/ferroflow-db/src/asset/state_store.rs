//! `asset_state_store`: what is kept for an asset between its updates.

use jiff::Timestamp;

use crate::statement::{binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Json, Tx};

/// How Airflow calls a writer that is a task.
const TASK: &str = "task";

/// The value under a key.
pub async fn find(tx: &mut Tx, asset_id: i64, key: &str) -> Result<Option<String>, Error> {
    let row = tx.fetch_optional(sql!("asset_state_store/find"), binds![asset_id, key]).await?;
    row.map(|row| row.get("value")).transpose()
}

/// Keeps a value that a task instance gives, whatever was kept under its key.
pub async fn set(
    tx: &mut Tx,
    asset_id: i64,
    key: &str,
    value: &Json,
    writer: &TaskInstanceKey,
    now: Timestamp,
) -> Result<(), Error> {
    let binds = binds![
        asset_id,
        key,
        value.text(),
        now,
        TASK,
        writer.dag_id.as_str(),
        writer.run_id.as_str(),
        writer.task_id.as_str(),
        writer.map_index,
    ];
    tx.execute(sql!("asset_state_store/set"), binds).await?;
    Ok(())
}

/// Drops the value under a key, if there is one.
pub async fn delete(tx: &mut Tx, asset_id: i64, key: &str) -> Result<(), Error> {
    tx.execute(sql!("asset_state_store/delete"), binds![asset_id, key]).await?;
    Ok(())
}

/// Drops everything that is kept for an asset.
pub async fn clear(tx: &mut Tx, asset_id: i64) -> Result<(), Error> {
    tx.execute(sql!("asset_state_store/clear"), binds![asset_id]).await?;
    Ok(())
}
