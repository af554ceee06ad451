//! The format of a recorded history.

use std::collections::BTreeMap;

use jiff::Timestamp;
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

/// An instant, as Python writes it.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Time(pub(super) Timestamp);

impl TryFrom<String> for Time {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

#[derive(Deserialize)]
pub(super) struct RunRecord {
    pub(super) run_id: String,
    pub(super) logical_date: Option<Time>,
    pub(super) run_type: String,
    pub(super) start_date: Option<Time>,
}

/// A change of one instance: run, task, map index, the state it left and the one it went to.
pub(super) type Change = (String, String, i32, Option<String>, Option<String>);

#[derive(Deserialize)]
pub(super) struct Tick {
    #[serde(rename = "tick")]
    pub(super) number: u64,
    /// The time; without it, later than everything.
    pub(super) now: Option<Time>,
    pub(super) clear: Option<Clear>,
    /// The DAG from now on.
    pub(super) serialized_dag: Option<Box<RawValue>>,
    /// The DAG is paused: what is ready is left alone.
    #[serde(default)]
    pub(super) paused: bool,
    /// The runs whose instances were compared with the DAG.
    #[serde(default)]
    pub(super) reconciled: Vec<String>,
    pub(super) decisions: Vec<Change>,
    pub(super) run_states: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) executed: Vec<Executed>,
    #[serde(default)]
    pub(super) executor_changes: Vec<Change>,
    /// From when instances are looked at again that went to wait for time to pass.
    #[serde(default)]
    pub(super) dues: Vec<(String, String, i32, Time)>,
}

#[derive(Deserialize)]
pub(super) struct Clear {
    pub(super) run_id: String,
    pub(super) tis: Vec<(String, i32, i64)>,
    #[serde(default)]
    pub(super) changes: Vec<Change>,
    /// When the run began, which is now if it had ended.
    pub(super) start_date: Option<Time>,
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
