//! Task instances.

use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::{not_mapped, times, uuid};
use crate::time_format::optional_time;

/// The states of the task instances to count.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CountedStates {
    /// `"null"` is that of an instance nobody has looked at.
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

/// Task instances of a DAG, in `GetTICount` and `GetTaskStates`. What is not given, or is empty, restricts nothing.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Instances {
    /// The DAG.
    pub dag_id: String,
    /// Which of the mapped copies; a negative one restricts nothing.
    #[serde(default)]
    pub map_index: Option<i64>,
    /// Tasks.
    #[serde(default)]
    pub task_ids: Option<Vec<String>>,
    /// A group whose tasks are meant.
    #[serde(default)]
    pub task_group_id: Option<String>,
    /// Runs, by logical date.
    #[serde(default, deserialize_with = "times")]
    pub logical_dates: Option<Vec<Timestamp>>,
    /// Runs, by name.
    #[serde(default)]
    pub run_ids: Option<Vec<String>>,
}

/// The instance of a task in the latest run, or in the latest before a date.
#[derive(Clone, Debug, Deserialize)]
pub struct GetPreviousTi {
    /// The DAG.
    pub dag_id: String,
    /// The task.
    pub task_id: String,
    /// The date.
    #[serde(default, with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    /// Which of the mapped copies.
    #[serde(default = "not_mapped")]
    pub map_index: i64,
    /// The state that it is in.
    #[serde(default)]
    pub state: Option<String>,
}

/// A task instance, by the id of its try.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct OfInstance {
    /// The id.
    #[serde(deserialize_with = "uuid")]
    pub ti_id: Uuid,
}
