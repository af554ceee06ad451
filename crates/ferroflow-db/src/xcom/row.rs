//! `xcom`: what task instances leave for others, each value under a key.

use jiff::Timestamp;

use crate::statement::{Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// What a task left under a key in a run: one value, or one of each mapped copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XComAddress {
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// What the task calls it.
    pub key: String,
}

/// Which runs of the DAG count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The one of the address.
    This,
    /// That, and those before it.
    UpToThis,
}

/// The value of one copy of the task, of the latest run that counts. SQL's NULL is JSON's `null`.
pub async fn find(
    tx: &mut Tx,
    address: &XComAddress,
    runs: Runs,
    map_index: i64,
) -> Result<Option<Json>, Error> {
    let statement = match runs {
        Runs::This => sql!("xcom/find"),
        Runs::UpToThis => sql!("xcom/find_prior"),
    };
    let binds = with(address, binds![map_index]);
    tx.fetch_optional(statement, binds).await?.as_ref().map(value).transpose()
}

/// How many values there are.
pub async fn count(tx: &mut Tx, address: &XComAddress, runs: Runs) -> Result<i64, Error> {
    let statement = match runs {
        Runs::This => sql!("xcom/count"),
        Runs::UpToThis => sql!("xcom/count_prior"),
    };
    let row = tx.fetch_optional(statement, with(address, Vec::new())).await?;
    row.map_or(Ok(0), |row| row.get("total"))
}

/// At most `limit` values by map index, from the one at `offset` on.
pub async fn range(
    tx: &mut Tx,
    address: &XComAddress,
    runs: Runs,
    offset: i64,
    limit: i64,
) -> Result<Vec<Json>, Error> {
    let statement = match runs {
        Runs::This => sql!("xcom/range"),
        Runs::UpToThis => sql!("xcom/range_prior"),
    };
    let rows = tx.fetch_all(statement, with(address, binds![limit, offset])).await?;
    rows.iter().map(value).collect()
}

/// Stores a value of one copy of the task, whatever was there. False, and nothing stored, if there is no such run.
pub async fn set(
    tx: &mut Tx,
    address: &XComAddress,
    map_index: i64,
    value: &Json,
    dag_result: bool,
    now: Timestamp,
) -> Result<bool, Error> {
    let Some(run) = crate::dag_run::lookup::id(tx, &address.dag_id, &address.run_id).await? else {
        return Ok(false);
    };
    delete(tx, address, map_index).await?;
    let binds = binds![
        run,
        address.task_id.as_str(),
        map_index,
        address.key.as_str(),
        address.dag_id.as_str(),
        address.run_id.as_str(),
        value.clone(),
        dag_result,
        now,
    ];
    tx.execute(sql!("xcom/insert"), binds).await?;
    Ok(true)
}

/// Drops the value of one copy of the task, if there is one.
pub async fn delete(tx: &mut Tx, address: &XComAddress, map_index: i64) -> Result<(), Error> {
    tx.execute(sql!("xcom/delete"), with(address, binds![map_index])).await?;
    Ok(())
}

fn with(address: &XComAddress, more: Vec<Bind>) -> Vec<Bind> {
    let mut binds = binds![
        address.dag_id.as_str(),
        address.task_id.as_str(),
        address.run_id.as_str(),
        address.key.as_str(),
    ];
    binds.extend(more);
    binds
}

fn value(row: &Row) -> Result<Json, Error> {
    Ok(row.optional("value")?.unwrap_or_else(Json::null))
}
