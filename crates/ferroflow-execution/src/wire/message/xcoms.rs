//! XComs.

use rmpv::Value;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct GetXCom {
    pub(crate) key: String,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) task_id: String,
    /// A negative one means the task that is not mapped.
    #[serde(default)]
    pub(crate) map_index: Option<i64>,
    #[serde(default)]
    pub(crate) include_prior_dates: bool,
}

#[derive(Deserialize)]
pub(crate) struct GetXComCount {
    pub(crate) key: String,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) task_id: String,
}

#[derive(Deserialize)]
pub(crate) struct GetXComSequenceItem {
    pub(crate) key: String,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) task_id: String,
    /// By map index; a negative one counts from the end.
    pub(crate) offset: i64,
}

#[derive(Deserialize)]
pub(crate) struct GetXComSequenceSlice {
    pub(crate) key: String,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) task_id: String,
    pub(crate) start: Option<i64>,
    pub(crate) stop: Option<i64>,
    pub(crate) step: Option<i64>,
    #[serde(default)]
    pub(crate) include_prior_dates: bool,
}

#[derive(Deserialize)]
pub(crate) struct SetXCom {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) task_id: String,
    /// A negative one means the task that is not mapped.
    #[serde(default)]
    pub(crate) map_index: Option<i64>,
    #[serde(default)]
    pub(crate) dag_result: bool,
    /// How many instances a task gets that is mapped over it.
    #[serde(default)]
    pub(crate) mapped_length: Option<i64>,
}

#[derive(Deserialize)]
pub(crate) struct DeleteXCom {
    pub(crate) key: String,
    pub(crate) dag_id: String,
    pub(crate) run_id: String,
    pub(crate) task_id: String,
    /// A negative one means the task that is not mapped.
    #[serde(default)]
    pub(crate) map_index: Option<i64>,
}
