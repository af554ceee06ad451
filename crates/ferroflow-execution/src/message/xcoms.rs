//! What tasks left for others.

use rmpv::Value;
use serde::Deserialize;

/// What one copy of a task left.
#[derive(Clone, Debug, Deserialize)]
pub struct GetXCom {
    /// Under which key.
    pub key: String,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies; a negative one means the task that is not mapped.
    #[serde(default)]
    pub map_index: Option<i64>,
    /// Whether earlier runs count, too.
    #[serde(default)]
    pub include_prior_dates: bool,
}

/// How many copies of a task left something.
#[derive(Clone, Debug, Deserialize)]
pub struct GetXComCount {
    /// Under which key.
    pub key: String,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
}

/// One of the values that the copies of a task left.
#[derive(Clone, Debug, Deserialize)]
pub struct GetXComSequenceItem {
    /// Under which key.
    pub key: String,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Which one, by map index; a negative one counts from the end.
    pub offset: i64,
}

/// Some of the values that the copies of a task left, as a slice in Python.
#[derive(Clone, Debug, Deserialize)]
pub struct GetXComSequenceSlice {
    /// Under which key.
    pub key: String,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// The first.
    pub start: Option<i64>,
    /// The one after the last.
    pub stop: Option<i64>,
    /// From one to the next.
    pub step: Option<i64>,
    /// Whether earlier runs count, too.
    #[serde(default)]
    pub include_prior_dates: bool,
}

/// Leaves a value for others.
#[derive(Clone, Debug, Deserialize)]
pub struct SetXCom {
    /// Under which key.
    pub key: String,
    /// What.
    pub value: Value,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies; a negative one means the task that is not mapped.
    #[serde(default)]
    pub map_index: Option<i64>,
    /// Whether it is the result of the run.
    #[serde(default)]
    pub dag_result: bool,
    /// How many copies of the tasks behind it it makes, if these are mapped over it.
    #[serde(default)]
    pub mapped_length: Option<i64>,
}

/// Deletes a value that one copy of a task left, if there is one.
#[derive(Clone, Debug, Deserialize)]
pub struct DeleteXCom {
    /// Under which key.
    pub key: String,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies; a negative one means the task that is not mapped.
    #[serde(default)]
    pub map_index: Option<i64>,
}
