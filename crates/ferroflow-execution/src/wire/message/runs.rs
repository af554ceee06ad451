//! Runs and DAGs.

use jiff::Timestamp;
use rmpv::Value;
use serde::Deserialize;

use super::super::time_format::optional_time;

#[derive(Deserialize)]
pub(crate) struct GetDag {
    pub(crate) dag_id: String,
}

/// Asks for a run of a DAG. Airflow's model is closed: no other key may be in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggerDagRun {
    #[serde(rename = "type")]
    _kind: String,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    #[serde(default, with = "optional_time")]
    pub(crate) logical_date: Option<Timestamp>,
    #[serde(default, with = "optional_time")]
    pub(crate) run_after: Option<Timestamp>,
    /// A map.
    #[serde(default)]
    pub(crate) conf: Option<Value>,
    /// Whether a run of this name is cleared, if there is one; not, if this is left out.
    #[serde(default = "not_reset")]
    pub(crate) reset_dag_run: Option<bool>,
    /// Airflow's supervisor does not hand it on.
    #[serde(default, rename = "partition_key")]
    _partition_key: Option<String>,
    #[serde(default)]
    pub(crate) note: Option<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null, too")]
fn not_reset() -> Option<bool> {
    Some(false)
}
