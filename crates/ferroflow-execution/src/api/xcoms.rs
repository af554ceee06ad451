//! XComs.

use ferroflow_model::Json;
use serde::{Deserialize, Serialize};

/// Whose XCom it is, and under which key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XComAddress {
    pub dag_id: String,
    pub run_id: String,
    pub task_id: String,
    pub key: String,
}

/// Which of the XComs of an address is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct XComOf {
    /// None and a negative one mean the task that is not mapped.
    pub map_index: Option<i64>,
    /// Whether those of earlier runs count too.
    pub include_prior_dates: bool,
}

/// An XCom that is pushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewXCom {
    pub address: XComAddress,
    /// [`NOT_MAPPED`](ferroflow_model::id::NOT_MAPPED) for the task that is not mapped.
    pub map_index: i32,
    pub value: Json,
    /// Whether it is the result of the run.
    pub dag_result: bool,
    /// How many instances a task gets that is mapped over it.
    pub mapped_length: Option<i64>,
}

/// A slice, as Python writes it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Slice {
    /// A negative one counts from the end.
    pub start: Option<i64>,
    pub stop: Option<i64>,
    /// 0 is taken for 1, as Airflow does.
    pub step: Option<i64>,
}
