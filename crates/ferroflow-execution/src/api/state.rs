//! The state that a task instance reports: `PATCH /task-instances/{id}/state`.

use ferroflow_model::state::TaskState;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::time_format::{optional_duration, time};

/// The state that a task instance reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StateUpdate {
    Success(Success),
    Failed(Ended),
    Skipped(Ended),
    Removed(Ended),
    UpstreamFailed(Ended),
    UpForRetry(Retry),
    Deferred(Deferral),
    UpForReschedule(Reschedule),
    AwaitingInput(AwaitedInput),
    /// What no task can say of itself. Airflow takes it for a failure.
    Scheduled,
    /// The same.
    Queued,
    /// The same.
    Restarting,
}

/// A success.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Success {
    #[serde(with = "time")]
    pub end_date: Timestamp,
    #[serde(default)]
    pub task_outlets: Option<Vec<AssetProfile>>,
    /// What the task noted about its outlets.
    #[serde(default)]
    pub outlet_events: Option<Vec<Value>>,
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

/// An asset, an alias or a reference to an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetProfile {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub uri: Option<String>,
    /// `Asset`, `AssetAlias`, `AssetNameRef` or `AssetUriRef`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// An end that is no success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    #[serde(with = "time")]
    pub end_date: Timestamp,
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

/// A failure that is followed by another try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    #[serde(with = "time")]
    pub end_date: Timestamp,
    #[serde(default)]
    pub rendered_map_index: Option<String>,
    /// The seconds until the next try, if a retry policy chose them.
    #[serde(default)]
    pub retry_delay_seconds: Option<f64>,
    #[serde(default)]
    pub retry_reason: Option<String>,
}

/// A wait for a trigger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deferral {
    /// The class of the trigger.
    pub classpath: String,
    /// What the trigger is made with: a map, or a text that is encrypted.
    #[serde(default)]
    pub trigger_kwargs: Option<Value>,
    #[serde(default, with = "optional_duration")]
    pub trigger_timeout: Option<SignedDuration>,
    /// The queue of triggerers.
    #[serde(default)]
    pub queue: Option<String>,
    /// The method to resume with.
    pub next_method: String,
    #[serde(default)]
    pub next_kwargs: Option<Value>,
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

/// A wait for a date.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reschedule {
    #[serde(with = "time")]
    pub reschedule_date: Timestamp,
    #[serde(with = "time")]
    pub end_date: Timestamp,
}

/// A wait for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AwaitedInput {
    #[serde(default, with = "optional_duration")]
    pub timeout: Option<SignedDuration>,
    /// The method to resume with.
    pub next_method: String,
    #[serde(default)]
    pub next_kwargs: Option<Value>,
    #[serde(default)]
    pub rendered_map_index: Option<String>,
}

impl StateUpdate {
    pub fn state(&self) -> TaskState {
        match self {
            Self::Success(_) => TaskState::Success,
            Self::Failed(_) => TaskState::Failed,
            Self::Skipped(_) => TaskState::Skipped,
            Self::Removed(_) => TaskState::Removed,
            Self::UpstreamFailed(_) => TaskState::UpstreamFailed,
            Self::UpForRetry(_) => TaskState::UpForRetry,
            Self::Deferred(_) => TaskState::Deferred,
            Self::UpForReschedule(_) => TaskState::UpForReschedule,
            Self::AwaitingInput(_) => TaskState::AwaitingInput,
            Self::Scheduled => TaskState::Scheduled,
            Self::Queued => TaskState::Queued,
            Self::Restarting => TaskState::Restarting,
        }
    }
}
