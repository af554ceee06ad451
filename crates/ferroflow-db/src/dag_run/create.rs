//! `dag_run`s that are made many at a time, and what has to be known before.

use std::collections::HashMap;

use ferroflow_model::extended_json;
use ferroflow_model::state::{RunState, TriggeredBy};
use ferroflow_model::stored_dag::LatestRun;
use ferroflow_model::timetable::DataInterval;
use jiff::Timestamp;

use crate::dag_run::NewDagRun;
use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Json, Tx, log_template};

/// What identifies a run: its DAG and its name.
pub type RunKey = (String, String);

/// How many runs of a DAG are queued or running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActiveRuns {
    /// Those of backfills,
    pub backfills: u32,
    /// and all others.
    pub others: u32,
}

/// A run that stands for a date already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOfDate {
    /// Its name.
    pub run_id: String,
    /// What a timetable is told of it.
    pub run: LatestRun,
}

/// Adds runs under the newest log template, and returns the ids of their rows.
pub async fn insert_many(
    tx: &mut Tx,
    runs: &[NewDagRun],
    now: Timestamp,
) -> Result<HashMap<RunKey, i64>, Error> {
    /// A power of two, as are the sizes of what is left over: few different statements are prepared.
    const MAX_ROWS: usize = 64;
    let template = log_template::newest_id(tx).await?;
    let mut ids = HashMap::with_capacity(runs.len());
    let mut left = runs;
    while !left.is_empty() {
        let rows = if left.len() >= MAX_ROWS { MAX_ROWS } else { 1 << left.len().ilog2() };
        let (batch, later) = left.split_at(rows);
        let values = batch.iter().flat_map(|run| values(run, template, now)).collect();
        tx.execute(sql!("dag_run/insert_many"), vec![Bind::Rows(values)]).await?;
        let keys = batch.iter().map(|run| (run.dag_id.as_str(), run.run_id.as_str()));
        ids.extend(self::ids(tx, keys).await?);
        left = later;
    }
    Ok(ids)
}

/// The ids of the rows of some runs, of those that there are.
pub async fn find_ids(tx: &mut Tx, keys: &[(&str, &str)]) -> Result<HashMap<RunKey, i64>, Error> {
    let mut found = HashMap::new();
    for keys in keys.chunks(BATCH) {
        found.extend(ids(tx, keys.iter().copied()).await?);
    }
    Ok(found)
}

/// The runs that stand for these dates, by DAG and date.
pub async fn of_dates(
    tx: &mut Tx,
    dates: &[(&str, Timestamp)],
) -> Result<HashMap<(String, Timestamp), RunOfDate>, Error> {
    let mut found = HashMap::new();
    for dates in dates.chunks(BATCH) {
        let tuples = dates.iter().map(|(dag_id, date)| binds![*dag_id, *date]);
        let rows = tx.fetch_all(sql!("dag_run/of_dates"), vec![padded_rows(tuples)]).await?;
        found.extend(tx.readable(&rows, |row| {
            Ok(((row.get("dag_id")?, row.get("logical_date")?), run_of_date(row)?))
        })?);
    }
    Ok(found)
}

/// How many runs of each of some DAGs are active.
pub async fn count_active(tx: &mut Tx, dag_ids: &[&str]) -> Result<HashMap<String, ActiveRuns>, Error> {
    let mut found: HashMap<String, ActiveRuns> = HashMap::new();
    for ids in dag_ids.chunks(BATCH) {
        let list = ids.iter().copied().collect();
        for row in &tx.fetch_all(sql!("dag_run/count_active_by_type"), vec![list]).await? {
            let runs: i64 = row.get("runs")?;
            let runs = u32::try_from(runs).unwrap_or(u32::MAX);
            let counts = found.entry(row.get("dag_id")?).or_default();
            // Of whatever type it is, it is active.
            let run_type: Option<String> = tx.or_note(row.get("run_type"))?;
            let is_backfill = run_type.as_deref() == Some("backfill");
            let count = if is_backfill { &mut counts.backfills } else { &mut counts.others };
            *count = count.saturating_add(runs);
        }
    }
    Ok(found)
}

/// When the run before the next one of a DAG's schedule was made.
pub async fn last_scheduled(tx: &mut Tx, dag_ids: &[&str]) -> Result<HashMap<String, Timestamp>, Error> {
    let mut found = HashMap::new();
    for ids in dag_ids.chunks(BATCH) {
        let list = ids.iter().copied().collect();
        let rows = tx.fetch_all(sql!("dag_run/last_scheduled"), vec![list]).await?;
        for (dag_id, at) in tx.readable(&rows, |row| Ok((row.get("dag_id")?, row.optional("made_at")?)))? {
            found.extend(at.map(|at| (dag_id, at)));
        }
    }
    Ok(found)
}

/// The latest time before another at which a run of a DAG that assets asked for was due.
pub async fn last_asset_triggered(
    tx: &mut Tx,
    dag_id: &str,
    before: Timestamp,
) -> Result<Option<Timestamp>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/last_asset_triggered"), binds![dag_id, before]).await?;
    // Only whose turn it is, and which events are old, depends on it.
    Ok(row.map_or(Ok(None), |row| tx.or_note(row.optional("run_after")))?.flatten())
}

/// Rows for a list of tuples, the last one repeated up to a power of two: what stands in a list twice is found once.
pub(crate) fn padded_rows(tuples: impl Iterator<Item = Vec<Bind>>) -> Bind {
    let mut tuples: Vec<Vec<Bind>> = tuples.collect();
    if let Some(last) = tuples.last().cloned() {
        tuples.resize(tuples.len().next_power_of_two(), last);
    }
    Bind::Rows(tuples.into_iter().flatten().collect())
}

async fn ids(
    tx: &mut Tx,
    keys: impl Iterator<Item = (&str, &str)> + Send,
) -> Result<HashMap<RunKey, i64>, Error> {
    let tuples = padded_rows(keys.map(|(dag_id, run_id)| binds![dag_id, run_id]));
    let rows = tx.fetch_all(sql!("dag_run/ids"), vec![tuples]).await?;
    rows.iter().map(|row| Ok(((row.get("dag_id")?, row.get("run_id")?), row.get("id")?))).collect()
}

fn values(run: &NewDagRun, template: Option<i64>, now: Timestamp) -> Vec<Bind> {
    let is_running = run.state == RunState::Running;
    binds![
        run.dag_id.as_str(),
        run.run_id.as_str(),
        run.state.as_str(),
        run.run_type.as_str(),
        run.triggered_by.map(TriggeredBy::as_str),
        run.triggering_user_name.as_deref(),
        run.creating_job_id,
        run.backfill_id,
        run.logical_date,
        run.data_interval_start,
        run.data_interval_end,
        run.run_after,
        run.partition_key.as_deref(),
        run.partition_date,
        (!is_running).then_some(now),
        is_running.then(|| run.start_date.unwrap_or(now)),
        run.conf.clone(),
        run.bundle_version.as_deref(),
        run.created_dag_version_id,
        Json::from(extended_json::encode(&run.context_carrier)),
        now,
        now,
        0,
        template,
    ]
}

fn run_of_date(row: &Row) -> Result<RunOfDate, Error> {
    let start = row.optional("data_interval_start")?;
    let end = row.optional("data_interval_end")?;
    Ok(RunOfDate {
        run_id: row.get("run_id")?,
        run: LatestRun {
            run_after: row.get("run_after")?,
            data_interval: Option::zip(start, end).map(|(start, end)| DataInterval { start, end }),
            partition_date: row.optional("partition_date")?,
            partition_key: row.optional("partition_key")?,
        },
    })
}
