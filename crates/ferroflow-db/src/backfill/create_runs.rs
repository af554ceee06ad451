//! `backfill` and `backfill_dag_run`: a backfill that is being made, step by step.
//!
//! Its dates are all noted at once, each with the reason "unknown" until it is decided what becomes of it: Airflow knows
//! that word and never writes it. As long as there is such a date the backfill is not complete, and a scheduler that finds it can go
//! on where its maker stopped. `updated_at` tells when that was heard of last.

use std::collections::HashSet;

use ferroflow_model::backfill::{Reprocess, Skipped};
use jiff::Timestamp;

use crate::statement::{Bind, binds, sql};
use crate::{Error, Json, Tx};

/// What was asked for, as far as the row tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The DAG.
    pub dag_id: String,
    /// The first date.
    pub from: Timestamp,
    /// The last date.
    pub to: Timestamp,
    /// What its runs are given, if anything.
    pub conf: Option<Json>,
    /// Which runs that are there already are run again.
    pub reprocess: Reprocess,
    /// How many of its runs may run at once.
    pub max_active_runs: i32,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
}

/// A date of which it is not decided yet what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndecidedDate {
    /// Its row in `backfill_dag_run`.
    pub id: i64,
    /// The date,
    pub logical_date: Option<Timestamp>,
    /// or the partition.
    pub partition_key: Option<String>,
}

/// What a backfill was asked to do.
pub async fn request(tx: &mut Tx, id: i64) -> Result<Option<Request>, Error> {
    let Some(row) = tx.fetch_optional(sql!("backfill/request"), binds![id]).await? else { return Ok(None) };
    Ok(Some(Request {
        dag_id: row.get("dag_id")?,
        from: row.get("from_date")?,
        to: row.get("to_date")?,
        conf: row.json("dag_run_conf")?,
        reprocess: row.get_parsed("reprocess_behavior")?,
        max_active_runs: row.get("max_active_runs")?,
        triggering_user_name: row.optional("triggering_user_name")?,
    }))
}

/// Backfills that are not made completely, and whose makers were not heard of since: the row and the DAG of each.
pub async fn abandoned(tx: &mut Tx, since: Timestamp) -> Result<Vec<(i64, String)>, Error> {
    let rows = tx.fetch_all(sql!("backfill/abandoned"), binds![since]).await?;
    tx.readable(&rows, |row| Ok((row.get("id")?, row.get("dag_id")?)))
}

/// Becomes the maker of a backfill whose maker was not heard of since. False if another scheduler has, or if it is over.
pub async fn take_over(tx: &mut Tx, id: i64, since: Timestamp, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("backfill/take_over"), binds![now, id, since]).await? == 1)
}

/// The dates of a backfill that are not decided yet, in the order in which they run.
pub async fn undecided(tx: &mut Tx, id: i64) -> Result<Vec<UndecidedDate>, Error> {
    let rows = tx.fetch_all(sql!("backfill_dag_run/undecided"), binds![id]).await?;
    let dates = rows.iter().map(|row| {
        Ok(UndecidedDate {
            id: row.get("id")?,
            logical_date: row.optional("logical_date")?,
            partition_key: row.optional("partition_key")?,
        })
    });
    dates.collect()
}

/// Locks a backfill that is being made. False if it is over, or gone.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<bool, Error> {
    let Some(row) = tx.fetch_optional(sql!("backfill/lock_unfinished"), binds![id]).await? else {
        return Ok(false);
    };
    Ok(row.optional::<Timestamp>("completed_at")?.is_none())
}

/// Those of some dates of which it is still not decided what becomes of them.
pub async fn still_undecided(tx: &mut Tx, ids: &[i64]) -> Result<HashSet<i64>, Error> {
    let list: Bind = ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("backfill_dag_run/still_undecided"), vec![list]).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Notes what becomes of a date: it has a run, or there is a reason why not.
pub async fn decide(
    tx: &mut Tx,
    date: i64,
    dag_run_id: Option<i64>,
    skipped: Option<Skipped>,
) -> Result<(), Error> {
    let binds = binds![dag_run_id, skipped.map(Skipped::as_str), date];
    tx.execute(sql!("backfill_dag_run/decide"), binds).await.map(|_| ())
}

/// Takes a date away that the schedule does not have any more.
pub async fn drop_date(tx: &mut Tx, date: i64) -> Result<(), Error> {
    tx.execute(sql!("backfill_dag_run/delete_undecided"), binds![date]).await.map(|_| ())
}

/// Tells others that the maker of a backfill lives.
pub async fn touch(tx: &mut Tx, id: i64, now: Timestamp) -> Result<(), Error> {
    tx.execute(sql!("backfill/touch"), binds![now, id]).await.map(|_| ())
}

/// All of it is made: its runs may start.
pub async fn unpause(tx: &mut Tx, id: i64, now: Timestamp) -> Result<(), Error> {
    tx.execute(sql!("backfill/unpause"), binds![false, now, id]).await.map(|_| ())
}

/// Fails the runs that wait of a backfill that was cancelled, as those were failed that were there at that time.
pub async fn fail_queued(tx: &mut Tx, id: i64, now: Timestamp) -> Result<u64, Error> {
    tx.execute(sql!("dag_run/fail_queued_of_backfill"), binds![now, id]).await
}
