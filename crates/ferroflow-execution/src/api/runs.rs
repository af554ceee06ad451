//! DAG runs and DAGs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::time_format::{optional_time, optional_times, time};

/// The run before a date.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviousRun {
    pub dag_id: String,
    #[serde(with = "time")]
    pub logical_date: Timestamp,
    #[serde(default)]
    pub state: Option<String>,
}

/// Runs of a DAG that are counted. What is not given, or is empty, restricts nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CountedRuns {
    pub dag_id: String,
    #[serde(default, with = "optional_times")]
    pub logical_dates: Option<Vec<Timestamp>>,
    #[serde(default)]
    pub run_ids: Option<Vec<String>>,
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

/// The dates of the last successful run before that of a task instance: all of them none if there is no such run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousSuccess {
    #[serde(default, with = "optional_time")]
    pub data_interval_start: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub data_interval_end: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub start_date: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub end_date: Option<Timestamp>,
}

/// A run that a task asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriggerRun {
    pub dag_id: String,
    pub run_id: String,
    #[serde(default, with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub run_after: Option<Timestamp>,
    #[serde(default)]
    pub conf: Map<String, Value>,
    #[serde(default)]
    pub note: Option<String>,
}

/// A DAG, as tasks see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DagResponse {
    pub dag_id: String,
    pub is_paused: bool,
    pub bundle_name: String,
    pub bundle_version: Option<String>,
    pub relative_fileloc: Option<String>,
    /// The owners of its tasks, separated by commas.
    pub owners: Option<String>,
    /// In order.
    pub tags: Vec<String>,
    /// The logical date of its next run.
    #[serde(with = "optional_time")]
    pub next_dagrun: Option<Timestamp>,
}
