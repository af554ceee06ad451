//! The format of a recorded history.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One history.
#[derive(Deserialize)]
pub(super) struct Vector<'t> {
    pub(super) id: String,
    pub(super) features: Vec<String>,
    #[serde(borrow)]
    pub(super) serialized_dag: &'t RawValue,
    pub(super) runs: Vec<RunRecord>,
    pub(super) initial_tis: Vec<(String, String, i32)>,
    pub(super) ticks: Vec<Tick>,
    pub(super) r#final: Final,
}

#[derive(Deserialize)]
pub(super) struct RunRecord {
    pub(super) run_id: String,
    pub(super) logical_date: String,
    pub(super) run_type: String,
}

/// A change of one instance: run, task, map index, the state it left and the one it went to.
pub(super) type Change = (String, String, i32, Option<String>, Option<String>);

#[derive(Deserialize)]
pub(super) struct Tick {
    #[serde(rename = "tick")]
    pub(super) number: u64,
    pub(super) clear: Option<Clear>,
    pub(super) decisions: Vec<Change>,
    pub(super) run_states: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) executed: Vec<Executed>,
    #[serde(default)]
    pub(super) executor_changes: Vec<Change>,
}

#[derive(Deserialize)]
pub(super) struct Clear {
    pub(super) run_id: String,
    pub(super) tis: Vec<(String, i32, i64)>,
}

#[derive(Deserialize)]
pub(super) struct Executed {
    pub(super) ti: (String, String, i32),
    #[serde(default)]
    pub(super) xcom: bool,
    pub(super) task_map: Option<u64>,
    pub(super) skipmixin: Option<SkipMixin>,
}

#[derive(Deserialize)]
pub(super) struct SkipMixin {
    pub(super) followed: Option<Vec<String>>,
    #[serde(default)]
    pub(super) skipped: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Final {
    pub(super) ti_states: BTreeMap<String, BTreeMap<String, Option<String>>>,
    pub(super) try_numbers: BTreeMap<String, BTreeMap<String, u32>>,
    pub(super) run_states: BTreeMap<String, String>,
}
