//! The other task instances of a run, as far as one of them decides about them or asks for them.

use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::task_instance::execution::End;
use crate::{Error, Tx};

/// A task instance of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// Its id.
    pub id: Uuid,
    /// Its task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// Where it stands.
    pub state: Option<TaskState>,
    /// Which try it is.
    pub try_number: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
}

/// A task instance that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Breadcrumb {
    /// Its task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// How it ended, in Airflow's word.
    pub state: Option<String>,
    /// The class of its operator.
    pub operator: Option<String>,
    /// How many seconds it took.
    pub duration: Option<f64>,
}

/// All task instances of a run that can be read.
pub async fn of_run(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Vec<Sibling>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/of_run"), binds![dag_id, run_id]).await?;
    tx.readable(&rows, sibling)
}

/// Those of a run that have ended.
pub async fn breadcrumbs(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Vec<Breadcrumb>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/breadcrumbs"), binds![dag_id, run_id]).await?;
    rows.iter().map(breadcrumb).collect()
}

/// Ends one of them from outside: it started now if it had not, and ended now if it had not. False if it has left
/// the state in which it was seen.
pub async fn end(tx: &mut Tx, sibling: &Sibling, to: TaskState, now: Timestamp) -> Result<bool, Error> {
    let start = sibling.start_date.unwrap_or(now);
    let End { end_date, duration } = End::of(Some(start), sibling.end_date.unwrap_or(now));
    let from = sibling.state.map(TaskState::as_str);
    let binds = binds![to.as_str(), start, end_date, duration, now, sibling.id, from, from];
    Ok(tx.execute(sql!("task_instance/end_sibling"), binds).await? == 1)
}

/// Skips tasks of a run (of the mapped copies those with this index), but for those that run or have ended by
/// themselves. Returns how many.
pub async fn skip(
    tx: &mut Tx,
    of: &TaskInstanceKey,
    map_index: i32,
    task_ids: &[&str],
    now: Timestamp,
) -> Result<u64, Error> {
    let mut binds = binds![now, now, now, of.dag_id.as_str(), of.run_id.as_str(), map_index];
    binds.push(task_ids.iter().copied().collect::<Bind>());
    tx.execute(sql!("task_instance/skip"), binds).await
}

fn sibling(row: &Row) -> Result<Sibling, Error> {
    Ok(Sibling {
        id: row.get("id")?,
        task_id: row.get("task_id")?,
        map_index: row.get("map_index")?,
        state: row.parsed("state")?,
        try_number: row.get("try_number")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
    })
}

fn breadcrumb(row: &Row) -> Result<Breadcrumb, Error> {
    Ok(Breadcrumb {
        task_id: row.get("task_id")?,
        map_index: row.get("map_index")?,
        state: row.optional("state")?,
        operator: row.optional("operator")?,
        duration: row.optional("duration")?,
    })
}
