//! Runs and DAGs.

use jiff::Timestamp;
use rmpv::Value;
use serde::Deserialize;

use super::times;
use crate::time_format::{optional_time, time};

/// The run before a date.
#[derive(Clone, Debug, Deserialize)]
pub struct GetPreviousDagRun {
    /// The DAG.
    pub dag_id: String,
    /// The date.
    #[serde(with = "time")]
    pub logical_date: Timestamp,
    /// The state that it is in.
    #[serde(default)]
    pub state: Option<String>,
}

/// A run.
#[derive(Clone, Debug, Deserialize)]
pub struct OfRun {
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
}

/// How many runs of a DAG there are. What is not given, or is empty, restricts nothing.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct GetDrCount {
    /// The DAG.
    pub dag_id: String,
    /// Their logical dates.
    #[serde(default, deserialize_with = "times")]
    pub logical_dates: Option<Vec<Timestamp>>,
    /// Their names.
    #[serde(default)]
    pub run_ids: Option<Vec<String>>,
    /// Their states.
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

/// A DAG.
#[derive(Clone, Debug, Deserialize)]
pub struct GetDag {
    /// Its name.
    pub dag_id: String,
}

/// Asks for a run of a DAG. Airflow's model is closed: no other key may be in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerDagRun {
    /// The word for this message.
    #[serde(rename = "type")]
    pub kind: String,
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
    /// The date that it stands for.
    #[serde(default, with = "optional_time")]
    pub logical_date: Option<Timestamp>,
    /// From when on it may run.
    #[serde(default, with = "optional_time")]
    pub run_after: Option<Timestamp>,
    /// What it is given: a map.
    #[serde(default)]
    pub conf: Option<Value>,
    /// Whether a run of this name is cleared, if there is one; not, if this is left out.
    #[serde(default = "not_reset")]
    pub reset_dag_run: Option<bool>,
    /// Airflow's supervisor does not hand it on.
    #[serde(default)]
    pub partition_key: Option<String>,
    /// What to write on it.
    #[serde(default)]
    pub note: Option<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null, too")]
fn not_reset() -> Option<bool> {
    Some(false)
}
