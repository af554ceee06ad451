//! The requests of user code, as its messages name them.

use jiff::Timestamp;
use rmpv::Value;
use serde::{Deserialize, Deserializer, de};
use uuid::Uuid;

use super::value::read_time;

/// A connection, by its id.
#[derive(Clone, Debug, Deserialize)]
pub struct GetConnection {
    /// The id.
    pub conn_id: String,
}

/// The value of a variable.
#[derive(Clone, Debug, Deserialize)]
pub struct GetVariable {
    /// Its name.
    pub key: String,
}

/// A page of the names of variables.
#[derive(Clone, Debug, Deserialize)]
pub struct GetVariableKeys {
    /// How they begin.
    #[serde(default)]
    pub prefix: Option<String>,
    /// How many at most.
    #[serde(default = "a_thousand")]
    pub limit: i64,
    /// How many to leave out.
    #[serde(default)]
    pub offset: i64,
}

/// Sets a variable, new or not.
#[derive(Clone, Deserialize)]
pub struct PutVariable {
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: Option<String>,
    /// What it is for.
    pub description: Option<String>,
}

/// Deletes a variable, if there is one.
#[derive(Clone, Debug, Deserialize)]
pub struct DeleteVariable {
    /// Its name.
    pub key: String,
}

/// Takes a secret up into the masker.
#[derive(Clone, Deserialize)]
pub struct MaskSecret {
    /// The secret, or what has secrets in it.
    pub value: Value,
    /// The name it goes by.
    #[serde(default)]
    pub name: Option<String>,
}

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

/// The states of the task instances to count.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CountedStates {
    /// `"null"` is that of an instance nobody has looked at.
    #[serde(default)]
    pub states: Option<Vec<String>>,
}

/// Task instances of a DAG, in `GetTICount` and `GetTaskStates`. What is not given, or is empty, restricts nothing.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Instances {
    /// The DAG.
    pub dag_id: String,
    /// Which of the mapped copies; a negative one restricts nothing.
    #[serde(default)]
    pub map_index: Option<i64>,
    /// Tasks.
    #[serde(default)]
    pub task_ids: Option<Vec<String>>,
    /// A group whose tasks are meant.
    #[serde(default)]
    pub task_group_id: Option<String>,
    /// Runs, by logical date.
    #[serde(default, deserialize_with = "times")]
    pub logical_dates: Option<Vec<Timestamp>>,
    /// Runs, by name.
    #[serde(default)]
    pub run_ids: Option<Vec<String>>,
}

/// The instance of a task in the latest run, or in the latest before a date.
#[derive(Clone, Debug, Deserialize)]
pub struct GetPreviousTi {
    /// The DAG.
    pub dag_id: String,
    /// The task.
    pub task_id: String,
    /// The date.
    #[serde(default, deserialize_with = "maybe_time")]
    pub logical_date: Option<Timestamp>,
    /// Which of the mapped copies.
    #[serde(default = "not_mapped")]
    pub map_index: i64,
    /// The state that it is in.
    #[serde(default)]
    pub state: Option<String>,
}

/// The run before a date.
#[derive(Clone, Debug, Deserialize)]
pub struct GetPreviousDagRun {
    /// The DAG.
    pub dag_id: String,
    /// The date.
    #[serde(deserialize_with = "a_time")]
    pub logical_date: Timestamp,
    /// The state that it is in.
    #[serde(default)]
    pub state: Option<String>,
}

/// The last successful run before that of a task instance.
#[derive(Clone, Debug, Deserialize)]
pub struct GetPrevSuccessfulDagRun {
    /// The task instance.
    #[serde(deserialize_with = "uuid")]
    pub ti_id: Uuid,
}

fn a_thousand() -> i64 {
    1000
}

fn not_mapped() -> i64 {
    i64::from(ferroflow_model::id::NOT_MAPPED)
}

fn a_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    read_time(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
}

fn maybe_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Nil => Ok(None),
        value => read_time(&value).map(Some).map_err(de::Error::custom),
    }
}

fn times<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Timestamp>>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Nil => Ok(None),
        Value::Array(values) => {
            let times = values.iter().map(read_time).collect::<Result<_, _>>();
            times.map(Some).map_err(de::Error::custom)
        }
        other => Err(de::Error::custom(format!("{other} is no list of times"))),
    }
}

fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = String::deserialize(deserializer)?;
    Uuid::try_parse(&text).map_err(de::Error::custom)
}
