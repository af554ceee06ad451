//! `task_instance`: what a new version of a DAG means for the instances of a run that is going on.

use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, binds, sql};
use crate::{Error, Tx};

/// Whether a try of the run that is over was of this version.
pub async fn was_tried(tx: &mut Tx, dag_id: &str, run_id: &str, version: Uuid) -> Result<bool, Error> {
    let binds = binds![dag_id, run_id, version];
    Ok(tx.fetch_optional(sql!("task_instance_history/has_version"), binds).await?.is_some())
}

/// The unfinished instances of a run that have begun are of this version from now on.
pub async fn set_version(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    version: Uuid,
    now: Timestamp,
) -> Result<u64, Error> {
    tx.execute(sql!("task_instance/set_version"), binds![version, now, dag_id, run_id]).await
}

/// Instances that were removed with their tasks are there again.
pub async fn restore(tx: &mut Tx, ids: &[Uuid], now: Timestamp) -> Result<u64, Error> {
    let ids: Bind = ids.iter().copied().collect();
    tx.execute(sql!("task_instance/restore"), vec![now.into(), ids]).await
}
