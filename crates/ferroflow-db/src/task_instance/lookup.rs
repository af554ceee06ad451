//! Questions about the `task_instance`s of a DAG that user code asks.

use std::convert::identity;

use ferroflow_model::state::TaskState;
use jiff::Timestamp;

use crate::list::{Condition, ListRequest};
use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::{self, TaskInstanceKey};
use crate::{Error, Tx};

/// Which task instances of a DAG are meant. An empty list restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The DAG.
    pub dag_id: String,
    /// Which of the mapped copies.
    pub map_index: Option<i64>,
    /// Tasks.
    pub task_ids: Vec<String>,
    /// Runs, by name.
    pub run_ids: Vec<String>,
    /// Runs, by logical date.
    pub logical_dates: Vec<Timestamp>,
}

/// A task instance and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceState {
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// Its state, in Airflow's word.
    pub state: Option<String>,
}

/// A task instance of an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierInstance {
    /// What it is of.
    pub key: TaskInstanceKey,
    /// The date that its run stands for.
    pub logical_date: Option<Timestamp>,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// Where it stands, in Airflow's word.
    pub state: Option<String>,
    /// How often it was started.
    pub try_number: i32,
    /// The seconds between start and end.
    pub duration: Option<f64>,
}

/// The task instances that are meant, and their states.
pub async fn states(tx: &mut Tx, filter: &Filter) -> Result<Vec<InstanceState>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/states"), filter.binds()).await?;
    rows.iter().map(instance_state).collect()
}

/// How many of the task instances that are meant are in one of these states; in any, if none is named. `None` is
/// the state of an instance that is not scheduled yet.
pub async fn count(tx: &mut Tx, filter: &Filter, states: &[Option<&str>]) -> Result<i64, Error> {
    let some = |values: &[String]| {
        (!values.is_empty()).then(|| Condition::is_any(values.iter().map(String::as_str)))
    };
    let dates = &filter.logical_dates;
    let dates = (!dates.is_empty()).then(|| Condition::is_any(dates.iter().copied()));
    let states = (!states.is_empty())
        .then(|| Condition::OneOf(states.iter().map(|state| state.map(Into::into)).collect()));
    let request = ListRequest::new()
        .filter("dag_id", Condition::is(filter.dag_id.as_str()))
        .filter_if("map_index", filter.map_index, Condition::is)
        .filter_if("task_id", some(&filter.task_ids), identity)
        .filter_if("run_id", some(&filter.run_ids), identity)
        .filter_if("logical_date", dates, identity)
        .filter_if("state", states, identity);
    task_instance::list::total(tx, &request, None).await
}

/// The task instance in the run with the latest logical date: before a time, and in one state, where these are
/// given.
pub async fn previous(
    tx: &mut Tx,
    dag_id: &str,
    task_id: &str,
    map_index: i64,
    before: Option<Timestamp>,
    state: Option<TaskState>,
) -> Result<Option<EarlierInstance>, Error> {
    let binds = binds![
        dag_id,
        task_id,
        map_index,
        before.is_none(),
        before,
        state.is_none(),
        state.map(TaskState::as_str),
    ];
    let row = tx.fetch_optional(sql!("task_instance/previous"), binds).await?;
    row.as_ref().map(earlier_instance).transpose()
}

impl Filter {
    fn binds(&self) -> Vec<Bind> {
        vec![
            Bind::from(self.dag_id.as_str()),
            Bind::from(self.map_index.is_none()),
            Bind::from(self.map_index),
            Bind::from(self.task_ids.is_empty()),
            self.task_ids.iter().map(String::as_str).collect(),
            Bind::from(self.run_ids.is_empty()),
            self.run_ids.iter().map(String::as_str).collect(),
            Bind::from(self.logical_dates.is_empty()),
            self.logical_dates.iter().copied().collect(),
        ]
    }
}

fn instance_state(row: &Row) -> Result<InstanceState, Error> {
    Ok(InstanceState {
        run_id: row.get("run_id")?,
        task_id: row.get("task_id")?,
        map_index: row.get("map_index")?,
        state: row.optional("state")?,
    })
}

fn earlier_instance(row: &Row) -> Result<EarlierInstance, Error> {
    Ok(EarlierInstance {
        key: TaskInstanceKey {
            dag_id: row.get("dag_id")?,
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            map_index: row.get("map_index")?,
        },
        logical_date: row.optional("logical_date")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
        state: row.optional("state")?,
        try_number: row.get("try_number")?,
        duration: row.optional("duration")?,
    })
}
