//! The Execution API's models of task instances and runs.

use jiff::{SignedDuration, Timestamp};
use rmpv::Value;
use serde::{Deserialize, Serialize};

use crate::time_format::{optional_duration, optional_time, time};

/// Asks to start a task instance.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct EnterRunning {
    /// The host that it runs on.
    pub hostname: String,
    /// The user that it runs as.
    pub unixname: String,
    /// Its process.
    pub pid: i32,
    /// When it started.
    #[serde(with = "time")]
    pub start_date: Timestamp,
}

/// Shows that a task instance lives.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Heartbeat {
    /// The host that it runs on.
    pub hostname: String,
    /// Its process.
    pub pid: i32,
}

/// What a task instance is told at its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunContext {
    /// Its run.
    pub dag_run: DagRun,
    /// How often this try was put off.
    pub task_reschedule_count: i64,
    /// How many tries may follow the first.
    pub max_tries: i32,
    /// Always empty, as in Airflow.
    pub variables: [Value; 0],
    /// Always empty, as in Airflow.
    pub connections: [Value; 0],
    /// What earlier tries left, to be deleted first.
    pub xcom_keys_to_clear: Vec<String>,
    /// Whether it may ask for another try, should this one fail.
    pub should_retry: bool,
    /// The method that it goes on with, if it was put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_method: Option<String>,
    /// What that method is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_kwargs: Option<Value>,
    /// When it first started, if it was put off.
    #[serde(with = "optional_time", skip_serializing_if = "Option::is_none")]
    pub start_date: Option<Timestamp>,
}

/// A run, as tasks see it. Airflow's model is closed: no other key may be in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DagRun {
    /// The DAG.
    pub dag_id: String,
    /// Its name.
    pub run_id: String,
    /// The date that it stands for.
    #[serde(with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    /// The start of its data interval.
    #[serde(with = "optional_time")]
    pub data_interval_start: Option<Timestamp>,
    /// The end of its data interval.
    #[serde(with = "optional_time")]
    pub data_interval_end: Option<Timestamp>,
    /// From when on it may run.
    #[serde(with = "time")]
    pub run_after: Timestamp,
    /// When it started.
    #[serde(with = "optional_time")]
    pub start_date: Option<Timestamp>,
    /// When it ended.
    #[serde(with = "optional_time")]
    pub end_date: Option<Timestamp>,
    /// How often it was cleared.
    pub clear_number: i32,
    /// Why it exists.
    pub run_type: String,
    /// Where it stands.
    pub state: String,
    /// What it was given.
    pub conf: Option<Value>,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
    /// The events of assets that it was made for.
    pub consumed_asset_events: Vec<ConsumedEvent>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// The date that its partition stands for.
    #[serde(with = "optional_time")]
    pub partition_date: Option<Timestamp>,
    /// What somebody wrote on it.
    pub note: Option<String>,
    /// The team of its bundle.
    pub team_name: Option<String>,
}

/// An event of an asset that a run was made for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConsumedEvent {
    /// The asset.
    pub asset: ConsumedAsset,
    /// What the event says.
    pub extra: Value,
    /// The task that it comes from.
    pub source_task_id: Option<String>,
    /// Its DAG.
    pub source_dag_id: Option<String>,
    /// Its run.
    pub source_run_id: Option<String>,
    /// Which of the mapped copies.
    pub source_map_index: Option<i32>,
    /// The aliases that it came through.
    pub source_aliases: Vec<ConsumedAlias>,
    /// When it happened.
    #[serde(with = "time")]
    pub timestamp: Timestamp,
    /// The partition it is about.
    pub partition_key: Option<String>,
}

/// The asset of an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConsumedAsset {
    /// Its name.
    pub name: String,
    /// Its URI.
    pub uri: String,
    /// What its author noted.
    pub extra: Value,
}

/// An alias that an event came through.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConsumedAlias {
    /// Its name.
    pub name: String,
}

/// What became of a task instance.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StateUpdate {
    /// It did what it should.
    Success(Success),
    /// It did not.
    Failed(Ended),
    /// It has nothing to do.
    Skipped(Ended),
    /// Its task is gone.
    Removed(Ended),
    /// Something that it needs did not succeed.
    UpstreamFailed(Ended),
    /// It failed, and is tried again.
    UpForRetry(Retry),
    /// It waits for a trigger.
    Deferred(Deferral),
    /// It wants to be looked at again later.
    UpForReschedule(Reschedule),
    /// It waits for a person.
    AwaitingInput(AwaitedInput),
    /// What no task can say of itself. Airflow takes it for a failure.
    Scheduled,
    /// The same.
    Queued,
    /// The same.
    Restarting,
}

/// A success.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Success {
    /// When it ended.
    #[serde(with = "time")]
    pub end_date: Timestamp,
    /// The assets that the task is said to write.
    #[serde(default)]
    pub task_outlets: Option<Vec<AssetProfile>>,
    /// What it noted about them.
    #[serde(default)]
    pub outlet_events: Option<Vec<Value>>,
    /// What people see in place of the map index.
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

/// An asset, an alias or a reference to an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetProfile {
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its URI.
    #[serde(default)]
    pub uri: Option<String>,
    /// `Asset`, `AssetAlias`, `AssetNameRef` or `AssetUriRef`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// An end that is no success.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Ended {
    /// When.
    #[serde(with = "time")]
    pub end_date: Timestamp,
    /// What people see in place of the map index.
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

/// A failure that is followed by another try.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Retry {
    /// When it failed.
    #[serde(with = "time")]
    pub end_date: Timestamp,
    /// What people see in place of the map index.
    #[serde(default)]
    pub rendered_map_index: Option<String>,
    /// The seconds until the next try, if the task chose them.
    #[serde(default)]
    pub retry_delay_seconds: Option<f64>,
    /// Why it is tried again.
    #[serde(default)]
    pub retry_reason: Option<String>,
}

/// A wait for a trigger.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Deferral {
    /// The class of the trigger.
    pub classpath: String,
    /// What it is made with: a map, or a text that is encrypted.
    #[serde(default)]
    pub trigger_kwargs: Option<Value>,
    /// How long to wait for it at most.
    #[serde(default, deserialize_with = "optional_duration")]
    pub trigger_timeout: Option<SignedDuration>,
    /// The queue of triggerers.
    #[serde(default)]
    pub queue: Option<String>,
    /// The method to go on with.
    pub next_method: String,
    /// What that method is given.
    #[serde(default)]
    pub next_kwargs: Option<Value>,
    /// What people see in place of the map index.
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

/// A wish to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Reschedule {
    /// When.
    #[serde(with = "time")]
    pub reschedule_date: Timestamp,
    /// When it ended for now.
    #[serde(with = "time")]
    pub end_date: Timestamp,
}

/// A wait for a person.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct AwaitedInput {
    /// How long at most.
    #[serde(default, deserialize_with = "optional_duration")]
    pub timeout: Option<SignedDuration>,
    /// The method to go on with.
    pub next_method: String,
    /// What that method is given.
    #[serde(default)]
    pub next_kwargs: Option<Value>,
    /// What people see in place of the map index.
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}
