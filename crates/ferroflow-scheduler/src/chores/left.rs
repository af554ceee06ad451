//! What chores leave as it is: rows that the database does not let them change. Others do not wait for them.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::{Error as DbError, Unreadable};
use ferroflow_telemetry::chain;

use crate::Error;

/// A row that the database does not let a chore change. It is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// The DAG that it is of, if it is of one.
    pub dag_id: Option<String>,
    /// Which row.
    pub row: String,
    /// Why.
    pub reason: String,
}

/// What a chore has done, row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done<T> {
    /// What is done.
    pub done: T,
    /// The rows that are left.
    pub left: Vec<Left>,
}

impl Left {
    /// A queued run, or one that runs.
    pub(crate) fn run(dag_id: &str, run_id: &str, reason: String) -> Self {
        Self { dag_id: Some(dag_id.to_owned()), row: format!("run {run_id} of DAG {dag_id}"), reason }
    }

    pub(super) fn row(row: String, reason: String) -> Self {
        Self { dag_id: None, row, reason }
    }

    pub(crate) fn instance(key: &TaskInstanceKey, reason: String) -> Self {
        let TaskInstanceKey { dag_id, run_id, task_id, map_index } = key;
        let row = format!("task instance {dag_id}.{task_id} of run {run_id}, map index {map_index}");
        Self { dag_id: Some(dag_id.clone()), row, reason }
    }
}

/// What the part with a row came to; nothing if the row is left. Of one that another transaction has nothing is told: it
/// is dealt with the next time.
pub(crate) fn or_left<T>(
    part: Result<T, DbError>,
    unreadable: &Unreadable,
    row: impl FnOnce(String) -> Left,
    left: &mut Vec<Left>,
) -> Option<T> {
    let error = match part {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    match error {
        DbError::Column(bad) => unreadable.note(&bad),
        error if error.is_busy() => {}
        error => left.push(row(chain(&error))),
    }
    None
}

/// What was done before an error stands, and has to be acted on: the error ends the chore for now, and is told.
pub(super) fn so_far<T: Default + PartialEq>(report: T, error: Error) -> Result<T, Error> {
    if report == T::default() {
        return Err(error);
    }
    tracing::error!("chore ended early; the rest is done when it is due again: {}", chain(&error));
    Ok(report)
}
