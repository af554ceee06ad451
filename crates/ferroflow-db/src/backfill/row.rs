//! `backfill`: runs for a stretch of the past, with a limit and a pause of their own.

use jiff::Timestamp;

use crate::statement::{Bind, Row, sql};
use crate::{Error, Tx};

/// What limits the runs of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backfill {
    /// Its row.
    pub id: i32,
    /// Whether it is paused.
    pub is_paused: bool,
    /// When it was over.
    pub completed_at: Option<Timestamp>,
    /// How many of its runs may run at once.
    pub max_active_runs: i32,
}

/// Some backfills.
pub async fn find(tx: &mut Tx, ids: &[i32]) -> Result<Vec<Backfill>, Error> {
    let rows = tx.fetch_all(sql!("backfill/facts"), vec![list(ids)]).await?;
    tx.readable(&rows, backfill)
}

/// The backfills that runs of some DAGs wait for to start, each with its DAG. One that is over may be among them: a run of
/// it was cleared.
pub async fn with_queued_runs(tx: &mut Tx, dag_ids: &[&str]) -> Result<Vec<(String, Backfill)>, Error> {
    let list: Bind = dag_ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("backfill/with_queued_runs"), vec![list]).await?;
    tx.readable(&rows, |row| Ok((row.get("dag_id")?, backfill(row)?)))
}

/// Locks those of some backfills that no other transaction has locked, as official schedulers do that start their runs.
pub async fn lock_free(tx: &mut Tx, ids: &[i32]) -> Result<Vec<Backfill>, Error> {
    let rows = tx.fetch_all(sql!("backfill/lock_free"), vec![list(ids)]).await?;
    tx.readable(&rows, backfill)
}

fn list(ids: &[i32]) -> Bind {
    ids.iter().copied().collect()
}

fn backfill(row: &Row) -> Result<Backfill, Error> {
    Ok(Backfill {
        id: row.get("id")?,
        is_paused: row.optional("is_paused")?.unwrap_or(false),
        completed_at: row.optional("completed_at")?,
        max_active_runs: row.get("max_active_runs")?,
    })
}
