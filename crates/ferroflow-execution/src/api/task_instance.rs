//! A task instance starts: what is asked, and what it is told of its run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time_format::{optional_time, time};

/// Asks to start a task instance: `PATCH /task-instances/{id}/run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnterRunning {
    pub hostname: String,
    /// The user that its process runs as.
    pub unixname: String,
    pub pid: i32,
    #[serde(with = "time")]
    pub start_date: Timestamp,
}

/// Shows that a task instance runs in this process: `PUT /task-instances/{id}/heartbeat`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub hostname: String,
    pub pid: i32,
}

/// What a task instance is told at its start: Airflow's `TIRunContext`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunContext {
    pub dag_run: DagRun,
    /// How often this try was rescheduled.
    pub task_reschedule_count: i64,
    pub max_tries: i32,
    /// Always empty, as in Airflow.
    pub variables: [Value; 0],
    /// Always empty, as in Airflow.
    pub connections: [Value; 0],
    /// XComs that earlier tries pushed, to be deleted before the task runs.
    pub xcom_keys_to_clear: Vec<String>,
    /// Whether it may ask for another try, should this one fail.
    pub should_retry: bool,
    /// The method that it resumes with, if it was deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_kwargs: Option<Value>,
    /// When it first started, if it was deferred.
    #[serde(default, with = "optional_time", skip_serializing_if = "Option::is_none")]
    pub start_date: Option<Timestamp>,
}

/// A run, as tasks see it. Airflow's model is closed: no other key may be in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DagRun {
    pub dag_id: String,
    pub run_id: String,
    #[serde(with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub data_interval_start: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub data_interval_end: Option<Timestamp>,
    #[serde(with = "time")]
    pub run_after: Timestamp,
    #[serde(with = "optional_time")]
    pub start_date: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub end_date: Option<Timestamp>,
    /// How often it was cleared.
    pub clear_number: i32,
    pub run_type: String,
    pub state: String,
    pub conf: Option<Value>,
    pub triggering_user_name: Option<String>,
    /// The asset events that it was created for.
    pub consumed_asset_events: Vec<ConsumedEvent>,
    pub partition_key: Option<String>,
    #[serde(with = "optional_time")]
    pub partition_date: Option<Timestamp>,
    pub note: Option<String>,
    /// The team of its bundle.
    pub team_name: Option<String>,
}

/// An asset event that a run was created for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsumedEvent {
    pub asset: ConsumedAsset,
    pub extra: Value,
    pub source_task_id: Option<String>,
    pub source_dag_id: Option<String>,
    pub source_run_id: Option<String>,
    pub source_map_index: Option<i32>,
    /// The aliases that it came through.
    pub source_aliases: Vec<ConsumedAlias>,
    #[serde(with = "time")]
    pub timestamp: Timestamp,
    pub partition_key: Option<String>,
}

/// The asset of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsumedAsset {
    pub name: String,
    pub uri: String,
    pub extra: Value,
}

/// An alias that an event came through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsumedAlias {
    pub name: String,
}
