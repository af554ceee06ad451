//! Assets, their events, and what tasks keep for them.

use ferroflow_model::Json;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::time_format::{optional_time, time};

/// The active asset of a name or a URI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssetRef {
    Name(String),
    Uri(String),
}

/// An asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetResponse {
    pub name: String,
    pub uri: String,
    pub group: String,
    /// A dict.
    pub extra: Json,
}

/// Whose events are asked for: those of the asset of a name and a URI, or of the active one if only one is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsOfAsset {
    pub name: Option<String>,
    pub uri: Option<String>,
}

/// Which of the events are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventWindow {
    #[serde(default, with = "optional_time")]
    pub after: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub before: Option<Timestamp>,
    /// How many at most.
    #[serde(default)]
    pub limit: Option<i64>,
    /// Whether the oldest come first.
    pub ascending: bool,
}

/// An event of an asset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetEventResponse {
    pub id: i64,
    #[serde(with = "time")]
    pub timestamp: Timestamp,
    /// A dict.
    pub extra: Json,
    pub asset: AssetResponse,
    pub created_dagruns: Vec<CreatedRun>,
    pub source_task_id: Option<String>,
    pub source_dag_id: Option<String>,
    pub source_run_id: Option<String>,
    pub source_map_index: Option<i32>,
    pub partition_key: Option<String>,
}

/// A run that was created for an event: Airflow's `AssetEventDagRunReference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedRun {
    pub run_id: String,
    pub dag_id: String,
    #[serde(with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub start_date: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub end_date: Option<Timestamp>,
    pub state: String,
    #[serde(with = "optional_time")]
    pub data_interval_start: Option<Timestamp>,
    #[serde(with = "optional_time")]
    pub data_interval_end: Option<Timestamp>,
    pub partition_key: Option<String>,
}
