//! Rows that stay as they are, since the database refuses the change. No other waits for them.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::{Error as DbError, Unreadable};
use ferroflow_telemetry::chain;

use crate::Error;

/// A row whose change the database refuses. It is retried later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetAside {
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
    /// The rows that are set aside.
    pub set_aside: Vec<SetAside>,
}

impl SetAside {
    /// A queued run, or one that runs.
    pub(crate) fn run(dag_id: &str, run_id: &str, reason: String) -> Self {
        Self { dag_id: Some(dag_id.to_owned()), row: format!("run {run_id} of DAG {dag_id}"), reason }
    }

    pub(crate) fn row(row: String, reason: String) -> Self {
        Self { dag_id: None, row, reason }
    }

    pub(crate) fn instance(key: &TaskInstanceKey, reason: String) -> Self {
        let TaskInstanceKey { dag_id, run_id, task_id, map_index } = key;
        let row = format!("task instance {dag_id}.{task_id} of run {run_id}, map index {map_index}");
        Self { dag_id: Some(dag_id.clone()), row, reason }
    }
}

/// What the part with a row came to; nothing if the row is set aside. Of one that another transaction has
/// locked nothing is logged: it is dealt with the next time.
pub(crate) fn or_set_aside<T>(
    part: Result<T, DbError>,
    unreadable: &Unreadable,
    row: impl FnOnce(String) -> SetAside,
    set_aside: &mut Vec<SetAside>,
) -> Option<T> {
    let error = match part {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    match error {
        DbError::Column(bad) => unreadable.note(&bad),
        error if error.is_busy() => {}
        error => set_aside.push(row(chain(&error))),
    }
    None
}

/// What was done before an error stands, and has to be acted on: the error ends the chore for now, and is logged.
pub(crate) fn so_far<T: Default + PartialEq>(report: T, error: Error) -> Result<T, Error> {
    if report == T::default() {
        return Err(error);
    }
    tracing::error!("chore ended early; the rest is done when it is due again: {}", chain(&error));
    Ok(report)
}
