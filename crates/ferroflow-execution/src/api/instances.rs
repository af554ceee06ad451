//! What tasks ask about task instances, and say of those downstream.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::time_format::{optional_time, optional_times};

/// The states of the task instances to count.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CountedStates {
    /// `"null"` is the state of an instance that has none.
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

/// Task instances of a DAG, in `GetTICount` and `GetTaskStates`. What is not given, or is empty, restricts nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Instances {
    pub dag_id: String,
    /// A negative one restricts nothing.
    #[serde(default)]
    pub map_index: Option<i64>,
    #[serde(default)]
    pub task_ids: Option<Vec<String>>,
    #[serde(default)]
    pub task_group_id: Option<String>,
    #[serde(default, with = "optional_times")]
    pub logical_dates: Option<Vec<Timestamp>>,
    #[serde(default)]
    pub run_ids: Option<Vec<String>>,
}

/// A task instance and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInstanceState {
    pub run_id: String,
    pub task_id: String,
    pub map_index: i32,
    pub state: Option<String>,
}

/// The instance of a task in the latest run, or in the latest before a date.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviousInstance {
    pub dag_id: String,
    pub task_id: String,
    #[serde(default, with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    #[serde(default = "not_mapped")]
    pub map_index: i64,
    #[serde(default)]
    pub state: Option<String>,
}

/// A task instance of an earlier run: Airflow's `PreviousTIResponse`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreviousTi {
    pub task_id: String,
    pub dag_id: String,
    pub run_id: String,
    #[serde(with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub start_date: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub end_date: Option<Timestamp>,
    pub state: Option<String>,
    pub try_number: i32,
    pub map_index: i32,
    /// In seconds.
    pub duration: Option<f64>,
}

/// A task instance of a run that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breadcrumb {
    pub task_id: String,
    pub map_index: i32,
    pub state: Option<String>,
    pub operator: Option<String>,
    /// In seconds.
    pub duration: Option<f64>,
}

/// A task, or one of its mapped instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SkippedTask {
    Task(String),
    Mapped(String, i32),
}

fn not_mapped() -> i64 {
    i64::from(ferroflow_model::id::NOT_MAPPED)
}
