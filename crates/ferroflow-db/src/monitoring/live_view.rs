//! The live view: runs, the tasks at work in them, and what is due next. Nothing is locked, and
//! each question is answered by an index or has few rows to look at.

use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;

use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::task_instance::orphans::key;
use crate::{Error, Tx};

/// A run and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStanding {
    /// Counted up by the database.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
    /// Where it stands.
    pub state: RunState,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
}

/// A task instance that is queued or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    /// Which.
    pub key: TaskInstanceKey,
    /// Where it stands.
    pub state: TaskState,
    /// Which try it is.
    pub try_number: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
}

/// How many task instances of a run are in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCount {
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The state; none if they are not scheduled yet.
    pub state: Option<TaskState>,
    /// How many.
    pub total: i64,
}

/// Runs that have not ended, the oldest rows first, as many as asked for.
pub async fn unfinished(tx: &mut Tx, limit: u32) -> Result<Vec<RunStanding>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/unfinished"), binds![i64::from(limit)]).await?;
    tx.readable(&rows, run_standing)
}

/// Runs that were made after one, and some others, the oldest rows first, as many as asked for.
pub async fn followed(tx: &mut Tx, after: i64, ids: &[i64], limit: u32) -> Result<Vec<RunStanding>, Error> {
    let binds = vec![Bind::from(after), ids.iter().copied().collect(), Bind::from(i64::from(limit))];
    let rows = tx.fetch_all(sql!("dag_run/followed"), binds).await?;
    tx.readable(&rows, run_standing)
}

/// The run that was made last; zero if there is none.
pub async fn newest_run(tx: &mut Tx) -> Result<i64, Error> {
    let row = tx.fetch_optional(sql!("dag_run/newest_id"), Vec::new()).await?;
    row.map_or(Ok(0), |row| row.get("id"))
}

/// Task instances that are queued or run, as many as asked for.
pub async fn at_work(tx: &mut Tx, limit: u32) -> Result<Vec<AtWork>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/at_work"), binds![i64::from(limit)]).await?;
    let at_work = |row: &Row| {
        Ok(AtWork {
            key: key(row)?,
            state: row.get_parsed("state")?,
            try_number: row.get("try_number")?,
            start_date: row.optional("start_date")?,
        })
    };
    tx.readable(&rows, at_work)
}

/// How many task instances of runs are in which state. Runs are named by DAG and name; a DAG of one and the name of
/// another may be a third run, which is counted too.
pub async fn count_by_state(tx: &mut Tx, runs: &[&RunStanding]) -> Result<Vec<StateCount>, Error> {
    let dags: Bind = runs.iter().map(|run| run.dag_id.as_str()).collect();
    let names: Bind = runs.iter().map(|run| run.run_id.as_str()).collect();
    let rows = tx.fetch_all(sql!("task_instance/count_by_state"), vec![dags, names]).await?;
    let count = |row: &Row| {
        Ok(StateCount {
            dag_id: row.get("dag_id")?,
            run_id: row.get("run_id")?,
            state: row.parsed("state")?,
            total: row.get("total")?,
        })
    };
    tx.readable(&rows, count)
}

/// DAGs that will get a run by their schedule, the soonest first, as many as asked for.
pub async fn upcoming(tx: &mut Tx, limit: u32) -> Result<Vec<(String, Timestamp)>, Error> {
    let rows = tx.fetch_all(sql!("dag/upcoming"), binds![i64::from(limit)]).await?;
    tx.readable(&rows, |row| Ok((row.get("dag_id")?, row.get("next_dagrun_create_after")?)))
}

/// DAGs that are paused, by name.
pub async fn paused(tx: &mut Tx) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag/paused"), Vec::new()).await?;
    tx.readable(&rows, |row| row.get("dag_id"))
}

/// How many DAGs there are.
pub async fn count_dags(tx: &mut Tx) -> Result<i64, Error> {
    let row = tx.fetch_optional(sql!("dag/count"), Vec::new()).await?;
    row.map_or(Ok(0), |row| row.get("total"))
}

fn run_standing(row: &Row) -> Result<RunStanding, Error> {
    Ok(RunStanding {
        id: row.get("id")?,
        dag_id: row.get("dag_id")?,
        run_id: row.get("run_id")?,
        state: row.get_parsed("state")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
    })
}
