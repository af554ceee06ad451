//! `asset_dag_run_queue`: the assets that have changed since a DAG last ran for them.

use jiff::Timestamp;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Notes for a DAG that an asset has changed. If that is noted already, it is so until now.
pub async fn add(tx: &mut Tx, asset_id: i64, dag_id: &str, now: Timestamp) -> Result<(), Error> {
    tx.execute(sql!("asset_dag_run_queue/insert_or_renew"), binds![asset_id, dag_id, now]).await?;
    Ok(())
}
