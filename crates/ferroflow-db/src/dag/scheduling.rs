//! What a scheduler needs to know of DAGs, and writes: when they run next, and whether they may.

use ferroflow_model::timetable::{DataInterval, RunInfo};
use jiff::Timestamp;

use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// The columns of a DAG that runs are made and started by.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the columns of Airflow's table")]
pub struct DagFacts {
    /// Its name.
    pub dag_id: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether its file is gone.
    pub is_stale: bool,
    /// Whether its file can no longer be read.
    pub has_import_errors: bool,
    /// Whether its active runs, not counting backfills, have reached `max_active_runs`, as it was last written.
    pub exceeds_max_non_backfill: bool,
    /// How many of its runs may be active.
    pub max_active_runs: Option<i32>,
    /// Whether its runs have partitions.
    pub timetable_partitioned: bool,
    /// Whether its timetable makes runs by itself.
    pub timetable_periodic: bool,
    /// The types of run that it takes, a list; all types if there is none.
    pub allowed_run_types: Option<Json>,
    /// The bundle its file is in.
    pub bundle_name: String,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// The logical date of its next run,
    pub next_dagrun: Option<Timestamp>,
    /// its data interval,
    pub next_dagrun_data_interval: Option<DataInterval>,
    /// its partition,
    pub next_dagrun_partition_key: Option<String>,
    /// the date of the partition,
    pub next_dagrun_partition_date: Option<Timestamp>,
    /// and from when on it may be made.
    pub next_dagrun_create_after: Option<Timestamp>,
}

/// DAGs that were looked for. One whose row cannot be read keeps back no other.
#[derive(Debug, Default)]
pub struct Found {
    /// The DAGs.
    pub dags: Vec<DagFacts>,
    /// Those whose rows cannot be read, and why.
    pub unreadable: Vec<(String, Error)>,
}

/// Where a page of DAGs that are due ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastDue {
    create_after: Timestamp,
    dag_id: String,
}

/// The DAGs whose next run is due and that may have one, as far as their rows tell: so many, by when they are due, after
/// the page before. Answers also where this one ends, if there may be more.
pub async fn due(
    tx: &mut Tx,
    now: Timestamp,
    after: Option<&LastDue>,
    most: usize,
) -> Result<(Found, Option<LastDue>), Error> {
    let page = |limit: i64| {
        let from = after.map_or(now, |last| last.create_after);
        let dag_id = after.map_or("", |last| last.dag_id.as_str());
        binds![now, after.is_none(), from, from, dag_id, limit]
    };
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = tx.fetch_all(sql!("dag/due"), page(limit)).await?;
    let mut last = if rows.len() < most { None } else { rows.iter().rev().find_map(last_due) };
    if rows.len() >= most && last.is_none() {
        // None of a whole page can be read: the DAGs behind it must not wait for that.
        rows = tx.fetch_all(sql!("dag/due"), page(i64::MAX)).await?;
        last = None;
    }
    let mut found = Found::default();
    found.add(tx, &rows)?;
    Ok((found, last))
}

fn last_due(row: &Row) -> Option<LastDue> {
    let create_after = row.get("next_dagrun_create_after").ok()?;
    Some(LastDue { create_after, dag_id: row.get("dag_id").ok()? })
}

/// Some DAGs.
pub async fn find(tx: &mut Tx, dag_ids: &[&str]) -> Result<Found, Error> {
    let mut found = Found::default();
    for ids in dag_ids.chunks(BATCH) {
        let rows = tx.fetch_all(sql!("dag/facts"), vec![ids.iter().copied().collect()]).await?;
        found.add(tx, &rows)?;
    }
    Ok(found)
}

/// Locks those of some DAGs that no other transaction has locked, until the transaction ends. Official schedulers hold the same
/// lock while they make runs, and DAG processors while they store a DAG.
pub async fn lock_free(tx: &mut Tx, dag_ids: &[&str]) -> Result<Found, Error> {
    let mut found = Found::default();
    let rows = tx.fetch_all(sql!("dag/lock_free"), vec![dag_ids.iter().copied().collect()]).await?;
    found.add(tx, &rows)?;
    Ok(found)
}

/// Writes which run comes next, for DAGs of which it is the same; `None` clears all six columns.
pub async fn set_next_run(tx: &mut Tx, dag_ids: &[&str], next: Option<&RunInfo>) -> Result<(), Error> {
    let interval = next.and_then(|run| run.data_interval);
    let mut binds = binds![
        next.and_then(RunInfo::logical_date),
        interval.map(|interval| interval.start),
        interval.map(|interval| interval.end),
        next.and_then(|run| run.partition_key.as_deref()),
        next.and_then(|run| run.partition_date),
        next.map(|run| run.run_after),
    ];
    binds.push(dag_ids.iter().copied().collect());
    tx.execute(sql!("dag/set_next_run"), binds).await?;
    Ok(())
}

/// Writes for some DAGs whether their active runs have reached the limit.
pub async fn set_exceeds(tx: &mut Tx, dag_ids: &[&str], exceeds: bool) -> Result<(), Error> {
    let list: Bind = dag_ids.iter().copied().collect();
    tx.execute(sql!("dag/set_exceeds"), vec![exceeds.into(), list, exceeds.into()]).await?;
    Ok(())
}

/// Counts the active runs of a DAG anew, for the flag that says whether it may have more: one of them has ended.
pub async fn recount_active(tx: &mut Tx, dag_id: &str) -> Result<(), Error> {
    tx.execute(sql!("dag/recount_active"), binds![dag_id]).await?;
    Ok(())
}

/// When the next run is due after a time: one that a schedule makes, or a queued one that may not start before.
pub async fn next_due(tx: &mut Tx, after: Timestamp) -> Result<Option<Timestamp>, Error> {
    let made = tx.fetch_optional(sql!("dag/next_due"), binds![after]).await?;
    let started = tx.fetch_optional(sql!("dag_run/next_startable"), binds![after]).await?;
    let made = tx.readable(made.as_slice(), |row| row.get("next_dagrun_create_after"))?;
    let started = tx.readable(started.as_slice(), |row| row.get("run_after"))?;
    Ok(made.into_iter().chain(started).min())
}

impl Found {
    fn add(&mut self, tx: &Tx, rows: &[Row]) -> Result<(), Error> {
        for row in rows {
            match facts(row) {
                Ok(dag) => self.dags.push(dag),
                Err(Error::Column(bad)) => {
                    tx.unreadable().note(&bad);
                    let dag_id = tx.or_note(row.get("dag_id"))?;
                    self.unreadable.extend(dag_id.map(|dag_id| (dag_id, Error::Column(bad))));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn facts(row: &Row) -> Result<DagFacts, Error> {
    let start = row.optional("next_dagrun_data_interval_start")?;
    let end = row.optional("next_dagrun_data_interval_end")?;
    Ok(DagFacts {
        dag_id: row.get("dag_id")?,
        is_paused: row.get("is_paused")?,
        is_stale: row.get("is_stale")?,
        has_import_errors: row.optional("has_import_errors")?.unwrap_or(false),
        exceeds_max_non_backfill: row.get("exceeds_max_non_backfill")?,
        max_active_runs: row.optional("max_active_runs")?,
        timetable_partitioned: row.get("timetable_partitioned")?,
        timetable_periodic: row.get("timetable_periodic")?,
        allowed_run_types: row.json("allowed_run_types")?,
        bundle_name: row.get("bundle_name")?,
        bundle_version: row.optional("bundle_version")?,
        next_dagrun: row.optional("next_dagrun")?,
        next_dagrun_data_interval: Option::zip(start, end).map(|(start, end)| DataInterval { start, end }),
        next_dagrun_partition_key: row.optional("next_dagrun_partition_key")?,
        next_dagrun_partition_date: row.optional("next_dagrun_partition_date")?,
        next_dagrun_create_after: row.optional("next_dagrun_create_after")?,
    })
}
