//! `asset_partition_dag_run`: partitions of DAGs that have no run yet.

use jiff::Timestamp;

use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Json, Page, Tx};

/// A partition that waits for its assets.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingPartition {
    /// Its row.
    pub id: i64,
    /// The DAG that waits.
    pub dag_id: String,
    /// The key of the partition.
    pub partition_key: String,
    /// The date that came with the first event, if one did.
    pub partition_date: Option<Timestamp>,
    /// Since when it waits.
    pub created_at: Timestamp,
    /// What the DAG's mappers were then.
    pub fingerprint: Option<Json>,
}

/// A key of an active asset that has come for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The row of the partition.
    pub partition_id: i64,
    /// The name of the asset,
    pub name: String,
    /// its URI
    pub uri: String,
    /// and the key.
    pub source_key: String,
}

/// A page of those that wait, of DAGs that are not stale: those whose id is greater than `after`.
pub async fn page(tx: &mut Tx, after: i64, limit: i64) -> Result<Page<PendingPartition, i64>, Error> {
    let rows = tx.fetch_all(sql!("asset_partition_dag_run/pending"), binds![after, limit]).await?;
    tx.page(&rows, limit, pending)
}

/// What has come for some partitions.
pub async fn arrived(tx: &mut Tx, ids: &[i64]) -> Result<Vec<Arrived>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(BATCH) {
        let rows = tx.fetch_all(sql!("partitioned_asset_key_log/arrived"), vec![list(ids)]).await?;
        found.extend(tx.readable(&rows, |row| {
            Ok(Arrived {
                partition_id: row.get("asset_partition_dag_run_id")?,
                name: row.get("name")?,
                uri: row.get("uri")?,
                source_key: row.get("source_partition_key")?,
            })
        })?);
    }
    Ok(found)
}

/// Locks those of some partitions that still wait and that no other transaction has locked, and tells which they are.
pub async fn lock_free(tx: &mut Tx, ids: &[i64]) -> Result<Vec<i64>, Error> {
    let rows = tx.fetch_all(sql!("asset_partition_dag_run/lock_free"), vec![list(ids)]).await?;
    tx.readable(&rows, |row| row.get("id"))
}

/// Ties a partition to its run, and to the run all events that have come for the partition. Says how many these are.
pub async fn give_run(tx: &mut Tx, id: i64, dag_run_id: i64, now: Timestamp) -> Result<u64, Error> {
    tx.execute(sql!("asset_partition_dag_run/set_run"), binds![dag_run_id, now, id]).await?;
    tx.execute(sql!("dagrun_asset_event/consume_partition"), binds![dag_run_id, id]).await
}

/// Deletes partitions that began to wait when the mappers were others, with all that has come for them.
pub async fn delete(tx: &mut Tx, ids: &[i64]) -> Result<(), Error> {
    tx.execute(sql!("partitioned_asset_key_log/delete_of"), vec![list(ids)]).await?;
    tx.execute(sql!("asset_partition_dag_run/delete_pending"), vec![list(ids)]).await?;
    Ok(())
}

fn list(ids: &[i64]) -> Bind {
    ids.iter().copied().collect()
}

fn pending(row: &Row) -> Result<PendingPartition, Error> {
    Ok(PendingPartition {
        id: row.get("id")?,
        dag_id: row.get("target_dag_id")?,
        partition_key: row.get("partition_key")?,
        partition_date: row.optional("partition_date")?,
        created_at: row.get("created_at")?,
        fingerprint: row.json("rollup_fingerprint")?,
    })
}
