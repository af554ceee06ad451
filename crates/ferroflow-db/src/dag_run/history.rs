//! What became of the runs of a DAG and of their task instances, in the past.

use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;

use crate::dag_run::DagRun;
use crate::statement::{Bind, Row, binds, sql};
use crate::{Error, Tx};

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// Its name.
    pub run_id: String,
    /// Where it stands.
    pub state: RunState,
    /// When it was due,
    pub run_after: Timestamp,
    /// started,
    pub start: Option<Timestamp>,
    /// and ended.
    pub end: Option<Timestamp>,
}

impl From<DagRun> for PastRun {
    fn from(run: DagRun) -> Self {
        let DagRun { run_id, state, run_after, start_date: start, end_date: end, .. } = run;
        Self { run_id, state, run_after, start, end }
    }
}

/// How many instances of a task are in one state, in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCount {
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// The state; none if they are not scheduled yet.
    pub state: Option<TaskState>,
    /// How many.
    pub total: i64,
}

/// One try of a task instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// Which try it is.
    pub try_number: i32,
    /// Where it stands; none if it is not scheduled yet.
    pub state: Option<TaskState>,
    /// When it was given a slot,
    pub queued: Option<Timestamp>,
    /// started,
    pub start: Option<Timestamp>,
    /// and ended.
    pub end: Option<Timestamp>,
}

/// The newest runs of a DAG, the newest first: by when they were due.
pub async fn newest_runs(tx: &mut Tx, dag_id: &str, limit: u32) -> Result<Vec<PastRun>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/newest"), binds![dag_id, i64::from(limit)]).await?;
    let run = |row: &Row| {
        Ok(PastRun {
            run_id: row.get("run_id")?,
            state: row.get_parsed("state")?,
            run_after: row.get("run_after")?,
            start: row.optional("start_date")?,
            end: row.optional("end_date")?,
        })
    };
    rows.iter().map(run).collect()
}

/// Where the task instances of some runs stand.
pub async fn task_counts(tx: &mut Tx, dag_id: &str, run_ids: &[&str]) -> Result<Vec<TaskCount>, Error> {
    let binds = vec![Bind::from(dag_id), run_ids.iter().copied().collect()];
    let rows = tx.fetch_all(sql!("task_instance/count_of_runs"), binds).await?;
    let count = |row: &Row| {
        Ok(TaskCount {
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            state: row.parsed("state")?,
            total: row.get("total")?,
        })
    };
    rows.iter().map(count).collect()
}

/// Every try of a run: by task, map index and number.
pub async fn tries(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Vec<Try>, Error> {
    let mut found = Vec::new();
    for statement in [sql!("task_instance_history/tries_of_run"), sql!("task_instance/tries_of_run")] {
        let rows = tx.fetch_all(statement, binds![dag_id, run_id]).await?;
        found.extend(rows.iter().map(a_try).collect::<Result<Vec<_>, Error>>()?);
    }
    // A try that is being archived may be in both tables: the row that is in use counts, which comes last.
    found.reverse();
    found.sort_by(|one, other| key(one).cmp(&key(other)));
    found.dedup_by(|one, other| key(one) == key(other));
    Ok(found)
}

fn key(one: &Try) -> (&str, i32, i32) {
    (&one.task_id, one.map_index, one.try_number)
}

fn a_try(row: &Row) -> Result<Try, Error> {
    Ok(Try {
        task_id: row.get("task_id")?,
        map_index: row.get("map_index")?,
        try_number: row.get("try_number")?,
        state: row.parsed("state")?,
        queued: row.optional("queued_dttm")?,
        start: row.optional("start_date")?,
        end: row.optional("end_date")?,
    })
}
