//! A run is cleared: its `task_instance`s begin anew, and what they were goes into their history.

use std::convert::identity;

use ferroflow_model::extended_json;
use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::encoding::executor_config::ExecutorConfig;
use crate::list::{Condition, ListRequest};
use crate::statement::{Row, binds, sql};
use crate::task_instance::TaskInstance;
use crate::task_instance::fields::FIELDS;
use crate::task_instance::row::task_instance;
use crate::{Error, Json, Tx};

/// Which task instances of a DAG are meant. What is not given restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The DAG.
    pub dag_id: String,
    /// The first logical date of their runs.
    pub from: Option<Timestamp>,
    /// The last logical date of their runs.
    pub to: Option<Timestamp>,
    /// Where they stand; anywhere if none is named.
    pub states: Vec<TaskState>,
    /// Their tasks.
    pub task_ids: Option<Vec<String>>,
}

/// A task instance that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its id.
    pub id: Uuid,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// Where it stands.
    pub state: Option<TaskState>,
}

/// The task instances that are meant, run by run.
pub async fn select(tx: &mut Tx, selection: &Selection) -> Result<Vec<Selected>, Error> {
    let states = (!selection.states.is_empty())
        .then(|| Condition::is_any(selection.states.iter().map(|state| state.as_str())));
    let request = ListRequest::new()
        .filter("dag_id", Condition::is(selection.dag_id.as_str()))
        .filter_if("logical_date", selection.from, |from| Condition::AtLeast(from.into()))
        .filter_if("logical_date", selection.to, |to| Condition::AtMost(to.into()))
        .filter_if("state", states, identity)
        .filter_if("task_id", selection.task_ids.as_deref(), |tasks| {
            Condition::is_any(tasks.iter().map(String::as_str))
        })
        .order_by(["run_after", "run_id", "task_id", "map_index"]);
    let rows = tx.list(sql!("task_instance/to_clear"), &FIELDS, &request).await?.rows;
    let selected = |row: &Row| {
        Ok(Selected {
            id: row.get("id")?,
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            map_index: row.get("map_index")?,
            state: row.parsed("state")?,
        })
    };
    rows.iter().map(selected).collect()
}

/// All task instances of a run. They stay locked until the transaction ends.
pub async fn lock_instances(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Vec<TaskInstance>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/lock_of_run"), binds![dag_id, run_id]).await?;
    rows.iter().map(task_instance).collect()
}

/// Keeps the current try in the history, unless it is there: one that has not finished as one that failed and, if it
/// has no end, ended now. What it asked people is kept beside it; that it was put off is forgotten.
pub async fn archive(tx: &mut Tx, instance: &TaskInstance, now: Timestamp) -> Result<(), Error> {
    let key = &instance.key;
    let (dag_id, task_id, run_id) = (key.dag_id.as_str(), key.task_id.as_str(), key.run_id.as_str());
    let tries = binds![dag_id, task_id, run_id, key.map_index, instance.try_number];
    let row = tx.fetch_optional(sql!("task_instance_history/tries"), tries).await?;
    let known: i64 = row.map_or(Ok(0), |row| row.get("total"))?;
    if known == 0 {
        let finished = instance.state.filter(|state| state.is_finished());
        if finished.is_none() && instance.end_date.is_none() {
            let duration = instance.start_date.map(|start| now.duration_since(start).as_secs_f64());
            tx.execute(sql!("task_instance/set_end"), binds![now, duration, instance.id]).await?;
        }
        let state = finished.unwrap_or(TaskState::Failed).as_str();
        let index = (key.map_index >= 0).then(|| key.map_index.to_string());
        let shown_index = instance.rendered_map_index.clone().or(index);
        let binds = binds![state, shown_index, instance.id];
        tx.execute(sql!("task_instance_history/insert_cleared"), binds).await?;
        tx.execute(sql!("hitl_detail_history/insert"), binds![instance.id]).await?;
    }
    tx.execute(sql!("task_reschedule/delete"), binds![instance.id]).await?;
    Ok(())
}

/// Gives a task instance that does not run the id of its next try, and what follows from its task then: that of
/// `anew`. False if it has left its state.
pub async fn begin_anew(
    tx: &mut Tx,
    was: &TaskInstance,
    anew: &TaskInstance,
    now: Timestamp,
) -> Result<bool, Error> {
    let state = was.state.map(TaskState::as_str);
    let binds = binds![
        anew.id,
        anew.max_tries,
        anew.pool.as_str(),
        anew.pool_slots,
        anew.queue.as_deref(),
        anew.priority_weight,
        anew.operator.as_deref(),
        anew.custom_operator_name.as_deref(),
        anew.executor.as_deref(),
        anew.executor_config.clone().map(ExecutorConfig::into_bytes),
        anew.context_carrier.as_ref().map(carrier),
        anew.dag_version_id,
        now,
        was.id,
        state,
        state,
    ];
    Ok(tx.execute(sql!("task_instance/clear"), binds).await? == 1)
}

/// Tells a running task instance to end and begin anew, with the id of its next try. False if it does not run.
pub async fn restart(
    tx: &mut Tx,
    was: &TaskInstance,
    anew: &TaskInstance,
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![anew.id, anew.context_carrier.as_ref().map(carrier), anew.dag_version_id, now, was.id];
    Ok(tx.execute(sql!("task_instance/clear_running"), binds).await? == 1)
}

/// A run, as it is cleared.
#[derive(Clone, Debug, PartialEq)]
pub struct ClearedRun {
    /// Its row.
    pub id: i64,
    /// Where it stands in a trace: a dict.
    pub context_carrier: Value,
    /// The version of the DAG that it goes on with.
    pub created_dag_version_id: Option<Uuid>,
    /// The version of the bundle, if it is tied to one.
    pub bundle_version: Option<String>,
}

/// Where a run stands. It stays locked until the transaction ends.
pub async fn lock_run(tx: &mut Tx, id: i64) -> Result<Option<RunState>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/lock_state"), binds![id]).await?;
    row.map(|row| row.get_parsed("state")).transpose()
}

/// Counts that a run was cleared; one that had finished is queued again.
pub async fn note_run(tx: &mut Tx, run: &ClearedRun, state: RunState, now: Timestamp) -> Result<bool, Error> {
    let binds = binds![
        now,
        carrier(&run.context_carrier),
        run.created_dag_version_id,
        run.bundle_version.as_deref(),
        now,
        run.id,
        state.as_str(),
    ];
    let is_noted = tx.execute(sql!("dag_run/note_cleared"), binds).await? == 1;
    if is_noted && state.is_finished() {
        tx.execute(sql!("dag_run/queue_cleared"), binds![run.id, state.as_str()]).await?;
    }
    Ok(is_noted)
}

fn carrier(carrier: &Value) -> Json {
    Json::from(extended_json::encode(carrier))
}
