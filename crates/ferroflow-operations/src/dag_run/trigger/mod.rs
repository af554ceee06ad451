//! Runs that are asked for, by a person, a program or a task.

mod by_task;
mod by_user;
mod checks;
mod make;
mod timetable;

use jiff::Timestamp;
use serde_json::{Map, Value};

pub use by_task::trigger_by_task;
pub(crate) use by_user::trigger_from;
pub use by_user::{TriggerRequest, trigger, trigger_action};
pub(crate) use checks::may_run;
pub(crate) use make::deadlines;

/// A run that somebody asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedRun {
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// From when on it may run; from now on if not given.
    pub run_after: Option<Timestamp>,
    /// What it is given.
    pub conf: Map<String, Value>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// What to write on it.
    pub note: Option<String>,
}
