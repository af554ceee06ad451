//! Questions about `dag_run`s that user code asks, and those of schedulers that queue their task instances.

use std::convert::identity;

use ferroflow_model::state::RunState;
use jiff::Timestamp;

use crate::dag_run::{self, DagRun};
use crate::list::{Condition, ListRequest};
use crate::statement::{Row, binds, sql};
use crate::{Error, Tx};

/// A run that waits for a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedRun {
    /// Its row.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
}

/// A run, with what its DAG says about all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunWithDag {
    /// The run.
    pub run: DagRun,
    /// Whether the DAG is paused.
    pub is_paused: bool,
    /// How many instances of the run may be at work.
    pub max_active_tasks: i32,
    /// The bundle that the DAG's file is in.
    pub bundle_name: String,
    /// The DAG's file, within the bundle.
    pub relative_fileloc: Option<String>,
    /// The team of the bundle.
    pub team_name: Option<String>,
}

/// The runs in these rows, in any order; none whose DAG is gone.
pub async fn with_dag(tx: &mut Tx, ids: &[i64]) -> Result<Vec<RunWithDag>, Error> {
    const BATCH: usize = 512;
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let list = vec![ids.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("dag_run/with_dag"), list).await?;
        found.extend(tx.readable(&rows, |row| {
            Ok(RunWithDag {
                run: dag_run::row::dag_run(row)?,
                is_paused: row.get("is_paused")?,
                max_active_tasks: row.get("max_active_tasks")?,
                bundle_name: row.get("bundle_name")?,
                relative_fileloc: row.optional("relative_fileloc")?,
                team_name: row.optional("team_name")?,
            })
        })?);
    }
    Ok(found)
}

/// The id of a run's row.
pub async fn id(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Option<i64>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/id"), binds![dag_id, run_id]).await?;
    row.map(|row| row.get("id")).transpose()
}

/// Where a run stands.
pub async fn state(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Option<RunState>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/state"), binds![dag_id, run_id]).await?;
    row.map(|row| row.get_parsed("state")).transpose()
}

/// Whether a run is among those that schedulers look at, by its date.
pub async fn is_due(tx: &mut Tx, dag_id: &str, run_id: &str, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.fetch_optional(sql!("dag_run/is_due"), binds![dag_id, run_id, now]).await?.is_some())
}

/// Where the newest runs of a DAG stand: at most so many.
pub async fn newest_states(tx: &mut Tx, dag_id: &str, most: usize) -> Result<Vec<RunState>, Error> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = tx.fetch_all(sql!("dag_run/newest_states"), binds![dag_id, most]).await?;
    rows.iter().map(|row| row.get_parsed("state")).collect()
}

/// The runs, of any DAG, that wait for a scheduler.
pub async fn queued(tx: &mut Tx) -> Result<Vec<QueuedRun>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/queued"), binds![]).await?;
    let run = |row: &Row| {
        Ok(QueuedRun { id: row.get("id")?, dag_id: row.get("dag_id")?, run_id: row.get("run_id")? })
    };
    rows.iter().map(run).collect()
}

/// How many runs of a DAG have one of these dates, one of these names and one of these states. An empty list
/// restricts nothing.
pub async fn count(
    tx: &mut Tx,
    dag_id: &str,
    logical_dates: &[Timestamp],
    run_ids: &[String],
    states: &[String],
) -> Result<i64, Error> {
    let some = |values: &[String]| {
        (!values.is_empty()).then(|| Condition::is_any(values.iter().map(String::as_str)))
    };
    let dates = (!logical_dates.is_empty()).then(|| Condition::is_any(logical_dates.iter().copied()));
    let request = ListRequest::new()
        .filter("dag_id", Condition::is(dag_id))
        .filter_if("logical_date", dates, identity)
        .filter_if("run_id", some(run_ids), identity)
        .filter_if("state", some(states), identity);
    dag_run::list::total(tx, &request, None).await
}
