//! `task_instance`: the tasks of a run, or the mapped copies of them: the current try of each.

use ferroflow_model::extended_json;
pub use ferroflow_model::key::TaskInstanceKey;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::encoding::executor_config::ExecutorConfig;
use crate::pool::DEFAULT_POOL;
use crate::statement::{Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// A task instance.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskInstance {
    /// The identity of this try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Its state; `None` if it is not scheduled yet.
    pub state: Option<TaskState>,
    /// How often it was started.
    pub try_number: i32,
    /// How many tries may follow the first.
    pub max_tries: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// The seconds in between.
    pub duration: Option<f64>,
    /// The host it runs on; empty before it does.
    pub hostname: Option<String>,
    /// The user of the operating system whose scheduler made it.
    pub unixname: Option<String>,
    /// The pool it takes slots from.
    pub pool: String,
    /// How many.
    pub pool_slots: i32,
    /// The queue of workers.
    pub queue: Option<String>,
    /// The higher, the earlier.
    pub priority_weight: Option<i32>,
    /// The class of its operator.
    pub operator: Option<String>,
    /// The name that its operator goes by.
    pub custom_operator_name: Option<String>,
    /// When it was last queued.
    pub queued_dttm: Option<Timestamp>,
    /// When it was last scheduled.
    pub scheduled_dttm: Option<Timestamp>,
    /// The scheduler that queued it.
    pub queued_by_job_id: Option<i64>,
    /// When its process last showed that it lives.
    pub last_heartbeat_at: Option<Timestamp>,
    /// Its process.
    pub pid: Option<i32>,
    /// The executor that its task asks for.
    pub executor: Option<String>,
    /// What its task tells the executor.
    pub executor_config: Option<ExecutorConfig>,
    /// When its row was last written.
    pub updated_at: Option<Timestamp>,
    /// What people see in place of the map index.
    pub rendered_map_index: Option<String>,
    /// Where it stands in a trace.
    pub context_carrier: Option<Value>,
    /// What its executor calls it.
    pub external_executor_id: Option<String>,
    /// The trigger that it waits for.
    pub trigger_id: Option<i64>,
    /// Until when it waits for it.
    pub trigger_timeout: Option<Timestamp>,
    /// The method it goes on with.
    pub next_method: Option<String>,
    /// What that method is given.
    pub next_kwargs: Option<Json>,
    /// What people see in place of the task's name.
    pub task_display_name: Option<String>,
    /// The version of the DAG that its task is from.
    pub dag_version_id: Option<Uuid>,
    /// The seconds until its next try, where the task itself has chosen them.
    pub retry_delay_override: Option<f64>,
    /// Why it is tried again.
    pub retry_reason: Option<String>,
}

impl TaskInstance {
    /// One that is not scheduled yet, of a task for which its author chose nothing.
    pub fn new(id: Uuid, key: TaskInstanceKey, now: Timestamp) -> Self {
        Self {
            id,
            key,
            state: None,
            try_number: 0,
            max_tries: 0,
            start_date: None,
            end_date: None,
            duration: None,
            hostname: Some(String::new()),
            unixname: None,
            pool: DEFAULT_POOL.to_owned(),
            pool_slots: 1,
            queue: Some("default".to_owned()),
            priority_weight: Some(1),
            operator: None,
            custom_operator_name: None,
            queued_dttm: None,
            scheduled_dttm: None,
            queued_by_job_id: None,
            last_heartbeat_at: None,
            pid: None,
            executor: None,
            executor_config: Some(ExecutorConfig::default()),
            updated_at: Some(now),
            rendered_map_index: None,
            context_carrier: None,
            external_executor_id: None,
            trigger_id: None,
            trigger_timeout: None,
            next_method: None,
            next_kwargs: None,
            task_display_name: None,
            dag_version_id: None,
            retry_delay_override: None,
            retry_reason: None,
        }
    }
}

/// Adds a task instance. JSON columns that hold nothing are SQL NULL, as in a row that Airflow's scheduler
/// made.
pub async fn insert(tx: &mut Tx, instance: &TaskInstance) -> Result<(), Error> {
    tx.execute(sql!("task_instance/insert"), values(instance)).await?;
    Ok(())
}

/// Adds task instances, many with each statement.
pub async fn insert_many(tx: &mut Tx, instances: &[TaskInstance]) -> Result<(), Error> {
    /// A power of two, as are the sizes of what is left over: few different statements are prepared.
    const MAX_ROWS: usize = 128;
    let mut left = instances;
    while !left.is_empty() {
        let rows = if left.len() >= MAX_ROWS { MAX_ROWS } else { 1 << left.len().ilog2() };
        let (batch, later) = left.split_at(rows);
        let rows = Bind::Rows(batch.iter().flat_map(values).collect());
        tx.execute(sql!("task_instance/insert_many"), vec![rows]).await?;
        left = later;
    }
    Ok(())
}

/// The task instance whose current try has this id.
pub async fn find(tx: &mut Tx, id: Uuid) -> Result<Option<TaskInstance>, Error> {
    let row = tx.fetch_optional(sql!("task_instance/find"), binds![id]).await?;
    row.as_ref().map(task_instance).transpose()
}

/// The task instances whose current tries have these ids, in any order.
pub async fn find_all(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<TaskInstance>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/some_by_id"), vec![ids.iter().copied().collect()]).await?;
    tx.readable(&rows, task_instance)
}

/// The id of the current try of a task instance.
pub async fn current_id(tx: &mut Tx, key: &TaskInstanceKey) -> Result<Option<Uuid>, Error> {
    let TaskInstanceKey { dag_id, run_id, task_id, map_index } = key;
    let binds = binds![dag_id.as_str(), run_id.as_str(), task_id.as_str(), *map_index];
    let row = tx.fetch_optional(sql!("task_instance/current_id"), binds).await?;
    row.map(|row| row.get("id")).transpose()
}

/// Moves a task instance from one state to another, and writes nothing else but `updated_at`. False, and
/// nothing changed, if it has left the first state.
pub async fn set_state(
    tx: &mut Tx,
    id: Uuid,
    from: Option<TaskState>,
    to: Option<TaskState>,
    now: Timestamp,
) -> Result<bool, Error> {
    let from = from.map(TaskState::as_str);
    let binds = binds![to.map(TaskState::as_str), now, id, from, from];
    Ok(tx.execute(sql!("task_instance/set_state"), binds).await? == 1)
}

/// The values of a row, in the order of the columns in `insert.sql`.
fn values(instance: &TaskInstance) -> Vec<Bind> {
    binds![
        instance.id,
        instance.key.dag_id.as_str(),
        instance.key.run_id.as_str(),
        instance.key.task_id.as_str(),
        instance.key.map_index,
        instance.state.map(TaskState::as_str),
        instance.try_number,
        instance.max_tries,
        instance.start_date,
        instance.end_date,
        instance.duration,
        instance.hostname.as_deref(),
        instance.unixname.as_deref(),
        instance.pool.as_str(),
        instance.pool_slots,
        instance.queue.as_deref(),
        instance.priority_weight,
        instance.operator.as_deref(),
        instance.custom_operator_name.as_deref(),
        instance.queued_dttm,
        instance.scheduled_dttm,
        instance.queued_by_job_id,
        instance.last_heartbeat_at,
        instance.pid,
        instance.executor.as_deref(),
        instance.executor_config.clone().map(ExecutorConfig::into_bytes),
        instance.updated_at,
        instance.rendered_map_index.as_deref(),
        instance.context_carrier.as_ref().map(|carrier| Json::from(extended_json::encode(carrier))),
        instance.external_executor_id.as_deref(),
        instance.trigger_id,
        instance.trigger_timeout,
        instance.next_method.as_deref(),
        instance.next_kwargs.clone(),
        instance.task_display_name.as_deref(),
        instance.dag_version_id,
        instance.retry_delay_override,
        instance.retry_reason.as_deref(),
    ]
}

pub(crate) fn task_instance(row: &Row) -> Result<TaskInstance, Error> {
    Ok(TaskInstance {
        id: row.get("id")?,
        key: TaskInstanceKey {
            dag_id: row.get("dag_id")?,
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            map_index: row.get("map_index")?,
        },
        state: row.parsed("state")?,
        try_number: row.get("try_number")?,
        max_tries: row.get("max_tries")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
        duration: row.optional("duration")?,
        hostname: row.optional("hostname")?,
        unixname: row.optional("unixname")?,
        pool: row.get("pool")?,
        pool_slots: row.get("pool_slots")?,
        queue: row.optional("queue")?,
        priority_weight: row.optional("priority_weight")?,
        operator: row.optional("operator")?,
        custom_operator_name: row.optional("custom_operator_name")?,
        queued_dttm: row.optional("queued_dttm")?,
        scheduled_dttm: row.optional("scheduled_dttm")?,
        queued_by_job_id: row.optional("queued_by_job_id")?,
        last_heartbeat_at: row.optional("last_heartbeat_at")?,
        pid: row.optional("pid")?,
        executor: row.optional("executor")?,
        executor_config: row.optional("executor_config")?.map(ExecutorConfig::from_bytes),
        updated_at: row.optional("updated_at")?,
        rendered_map_index: row.optional("rendered_map_index")?,
        context_carrier: row.extended_json("context_carrier")?,
        external_executor_id: row.optional("external_executor_id")?,
        trigger_id: row.optional("trigger_id")?,
        trigger_timeout: row.optional("trigger_timeout")?,
        next_method: row.optional("next_method")?,
        next_kwargs: row.json("next_kwargs")?,
        task_display_name: row.optional("task_display_name")?,
        dag_version_id: row.optional("dag_version_id")?,
        retry_delay_override: row.optional("retry_delay_override")?,
        retry_reason: row.optional("retry_reason")?,
    })
}
