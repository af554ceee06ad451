//! `asset_partition_dag_run`: partitions of DAGs for which something has come; and `partitioned_asset_key_log`: what.

use jiff::Timestamp;

use crate::statement::{binds, sql};
use crate::{Error, Json, Tx};

/// A partition of a DAG for which something has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its row.
    pub id: i64,
    /// Whether it has a run already.
    pub has_run: bool,
    /// The date that it stands for, if its assets have told.
    pub partition_date: Option<Timestamp>,
}

/// What has come for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// The asset.
    pub asset_id: i64,
    /// Its event.
    pub event_id: i64,
    /// The partition of the asset.
    pub source_key: &'a str,
    /// The DAG.
    pub target_dag_id: &'a str,
    /// The partition of the DAG.
    pub target_key: &'a str,
}

/// The newest row of a partition.
pub async fn newest(tx: &mut Tx, dag_id: &str, key: &str) -> Result<Option<Partition>, Error> {
    let row = tx.fetch_optional(sql!("asset_partition_dag_run/newest"), binds![key, dag_id]).await?;
    row.map(|row| {
        Ok(Partition {
            id: row.get("id")?,
            has_run: row.optional::<i64>("created_dag_run_id")?.is_some(),
            partition_date: row.optional("partition_date")?,
        })
    })
    .transpose()
}

/// Adds a partition, and returns its row.
pub async fn insert(
    tx: &mut Tx,
    dag_id: &str,
    key: &str,
    partition_date: Option<Timestamp>,
    fingerprint: Json,
    now: Timestamp,
) -> Result<i64, Error> {
    let binds = binds![dag_id, key, partition_date, fingerprint, now, now];
    tx.insert(sql!("asset_partition_dag_run/insert"), binds).await
}

/// Gives a partition another date, or none.
pub async fn set_partition_date(
    tx: &mut Tx,
    id: i64,
    date: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("asset_partition_dag_run/set_partition_date"), binds![date, now, id]).await?;
    Ok(())
}

/// Notes what has come for a partition.
pub async fn note_arrival(
    tx: &mut Tx,
    partition: i64,
    arrival: &Arrival<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    let binds = binds![
        arrival.asset_id,
        arrival.event_id,
        partition,
        arrival.source_key,
        arrival.target_dag_id,
        arrival.target_key,
        now,
    ];
    tx.execute(sql!("partitioned_asset_key_log/insert"), binds).await?;
    Ok(())
}
