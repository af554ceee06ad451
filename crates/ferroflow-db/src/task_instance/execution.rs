//! The life of one try: what is known of it, and the steps that it takes. Each names the state that it leaves, and
//! says whether the instance was in it.

use std::fmt::Display;

use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::dag_run::{self, DagRun};
use crate::statement::{Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{BadRow, Error, Json, Tx};

/// What the start and the end of a try need to know: of the instance, its run and its DAG.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Where it stands.
    pub state: Option<TaskState>,
    /// Which try it is.
    pub try_number: i32,
    /// How many tries may follow the first.
    pub max_tries: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// The host it runs on.
    pub hostname: Option<String>,
    /// The user it runs as.
    pub unixname: Option<String>,
    /// Its process.
    pub pid: Option<i32>,
    /// The queue of workers.
    pub queue: Option<String>,
    /// The method it goes on with.
    pub next_method: Option<String>,
    /// What that method is given.
    pub next_kwargs: Option<Json>,
    /// The version of the DAG that its task is from.
    pub dag_version_id: Option<Uuid>,
    /// The scheduler that queued it.
    pub queued_by_job_id: Option<i64>,
    /// Where it stands in a trace.
    pub context_carrier: Option<Value>,
    /// Its run, as far as an end needs it.
    pub run: RunOfTry,
    /// All of its run, unless that cannot be read.
    whole_run: Result<DagRun, Box<BadRow>>,
    /// The note on the run.
    pub note: Option<String>,
    /// Whose the DAG is.
    pub owners: Option<String>,
    /// Whether the first failure of a task fails what is left of the run.
    pub fail_fast: bool,
    /// The file of the DAG, from the root of its bundle.
    pub relative_fileloc: Option<String>,
    /// The bundle that the task is from.
    pub bundle_name: String,
    /// The version of the bundle that the task is from.
    pub version_bundle_version: Option<String>,
    /// The team of the bundle.
    pub team_name: Option<String>,
    /// How often this try was put off.
    pub reschedules: i64,
    /// Whether the task has left anything in this run.
    pub has_xcoms: bool,
    /// Whether the run was made for events of assets.
    pub has_asset_events: bool,
}

/// What the end of a try needs to know of its run. A bad value in another column of the run keeps no try from ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOfTry {
    /// Its row.
    pub id: i64,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// The date that its partition stands for.
    pub partition_date: Option<Timestamp>,
    /// The version of the bundle, if the run is tied to one.
    pub bundle_version: Option<String>,
    /// The version of the DAG when the run was made.
    pub created_dag_version_id: Option<Uuid>,
}

impl Facts {
    /// All of its run, for user code. An error if it cannot be read.
    pub fn whole_run(&self) -> Result<&DagRun, Error> {
        self.whole_run.as_ref().map_err(|bad| Error::Column(bad.clone()))
    }

    /// The error that a JSON column, of the instance or of its run, holds a value that makes no sense.
    pub fn unreadable(&self, column: &'static str, json: &Json, reason: &dyn Display) -> Error {
        let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &self.key;
        let key = format!(
            "dag_id {dag_id:?}, run_id {run_id:?}, task_id {task_id:?}, map_index \"{map_index}\", id \"{}\"",
            self.run.id
        );
        BadRow::inside(("task_instance/facts", key), column, json, reason)
    }
}

/// The process that a try runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The host.
    pub hostname: &'a str,
    /// The user.
    pub unixname: &'a str,
    /// The process.
    pub pid: i32,
}

/// The end of a try, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// When.
    pub end_date: Timestamp,
    /// The seconds since its start.
    pub duration: Option<f64>,
}

impl End {
    /// The end of what started then.
    pub fn of(start_date: Option<Timestamp>, end_date: Timestamp) -> Self {
        let duration = start_date.map(|start| end_date.duration_since(start).as_secs_f64());
        Self { end_date, duration }
    }
}

/// What waits for a trigger or a person is to go on with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Continuation<'a> {
    /// The method.
    pub method: &'a str,
    /// What it is given.
    pub kwargs: &'a Json,
}

/// All that is known of the try with this id.
pub async fn facts(tx: &mut Tx, id: Uuid) -> Result<Option<Facts>, Error> {
    let row = tx.fetch_optional(sql!("task_instance/facts"), binds![id]).await?;
    row.as_ref().map(read_facts).transpose()
}

/// The keys of all that the task has left in this run; of one of its mapped copies, if one is named.
pub async fn xcom_keys(
    tx: &mut Tx,
    dag_run_id: i64,
    task_id: &str,
    map_index: Option<i32>,
) -> Result<Vec<String>, Error> {
    let binds = binds![dag_run_id, task_id, map_index.is_none(), map_index];
    let rows = tx.fetch_all(sql!("xcom/keys_of_task"), binds).await?;
    rows.iter().map(|row| row.get("key")).collect()
}

/// It runs.
pub async fn enter_running(
    tx: &mut Tx,
    id: Uuid,
    from: TaskState,
    place: Place<'_>,
    start_date: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![place.hostname, place.unixname, place.pid, start_date, now, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/enter_running"), binds).await? == 1)
}

/// It has ended, and says how it is to be called.
pub async fn finish(
    tx: &mut Tx,
    id: Uuid,
    (from, to): (TaskState, TaskState),
    end: End,
    rendered_map_index: Option<&str>,
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![to.as_str(), end.end_date, end.duration, rendered_map_index, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/finish"), binds).await? == 1)
}

/// It has ended for now, or without a word; how it is called stays.
pub async fn end_try(
    tx: &mut Tx,
    id: Uuid,
    (from, to): (TaskState, TaskState),
    end: End,
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![to.as_str(), end.end_date, end.duration, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/end_try"), binds).await? == 1)
}

/// It fails, whatever it says. All else about it stays, as in Airflow.
pub async fn fail(tx: &mut Tx, id: Uuid, from: TaskState, end: End, now: Timestamp) -> Result<bool, Error> {
    let binds = binds![end.end_date, end.duration, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/fail"), binds).await? == 1)
}

/// It has failed and is tried again. What follows is [`renew`], when the history has this try.
pub async fn retry(
    tx: &mut Tx,
    id: Uuid,
    from: TaskState,
    end: End,
    rendered_map_index: Option<&str>,
    (delay, reason): (Option<f64>, Option<&str>),
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![end.end_date, end.duration, rendered_map_index, delay, reason, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/retry"), binds).await? == 1)
}

/// Gives what is tried again the id of its next try.
pub async fn renew(tx: &mut Tx, id: Uuid, new_id: Uuid, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("task_instance/renew"), binds![new_id, now, id]).await? == 1)
}

/// It waits: for a trigger, or for a person if there is none.
pub async fn defer(
    tx: &mut Tx,
    id: Uuid,
    (from, to): (TaskState, TaskState),
    trigger_id: Option<i64>,
    continuation: Continuation<'_>,
    timeout: Option<Timestamp>,
    now: Timestamp,
) -> Result<bool, Error> {
    let Continuation { method, kwargs } = continuation;
    let binds = binds![to.as_str(), trigger_id, method, kwargs.clone(), timeout, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/defer"), binds).await? == 1)
}

/// It may go on at once.
pub async fn resume(
    tx: &mut Tx,
    id: Uuid,
    from: TaskState,
    continuation: Continuation<'_>,
    now: Timestamp,
) -> Result<bool, Error> {
    let Continuation { method, kwargs } = continuation;
    let binds = binds![method, kwargs.clone(), now, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/resume"), binds).await? == 1)
}

/// It was cleared while it ran, and its process has ended: it has no state, and as many tries as are given.
pub async fn restart(
    tx: &mut Tx,
    id: Uuid,
    from: TaskState,
    max_tries: i32,
    now: Timestamp,
) -> Result<bool, Error> {
    let binds = binds![max_tries, now, now, id, from.as_str()];
    Ok(tx.execute(sql!("task_instance/restart"), binds).await? == 1)
}

/// Gives it the name that people see in place of the map index. False if there is no such instance.
pub async fn set_rendered_map_index(
    tx: &mut Tx,
    id: Uuid,
    name: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    Ok(tx.execute(sql!("task_instance/set_rendered_map_index"), binds![name, now, id]).await? == 1)
}

fn read_facts(row: &Row) -> Result<Facts, Error> {
    Ok(Facts {
        key: TaskInstanceKey {
            dag_id: row.get("dag_id")?,
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            map_index: row.get("map_index")?,
        },
        state: row.parsed("instance_state")?,
        try_number: row.get("try_number")?,
        max_tries: row.get("max_tries")?,
        start_date: row.optional("instance_start_date")?,
        hostname: row.optional("hostname")?,
        unixname: row.optional("unixname")?,
        pid: row.optional("pid")?,
        queue: row.optional("queue")?,
        next_method: row.optional("next_method")?,
        next_kwargs: row.json("next_kwargs")?,
        dag_version_id: row.optional("dag_version_id")?,
        queued_by_job_id: row.optional("queued_by_job_id")?,
        context_carrier: row.extended_json("instance_context_carrier")?,
        run: RunOfTry {
            id: row.get("id")?,
            logical_date: row.optional("logical_date")?,
            partition_key: row.optional("partition_key")?,
            partition_date: row.optional("partition_date")?,
            bundle_version: row.optional("bundle_version")?,
            created_dag_version_id: row.optional("created_dag_version_id")?,
        },
        whole_run: match dag_run::row::dag_run(row) {
            Ok(run) => Ok(run),
            Err(Error::Column(bad)) => Err(bad),
            Err(error) => return Err(error),
        },
        note: row.optional("note")?,
        owners: row.optional("owners")?,
        fail_fast: row.get("fail_fast")?,
        relative_fileloc: row.optional("relative_fileloc")?,
        bundle_name: row.get("bundle_name")?,
        version_bundle_version: row.optional("version_bundle_version")?,
        team_name: row.optional("team_name")?,
        reschedules: row.get("reschedules")?,
        has_xcoms: row.get("has_xcoms")?,
        has_asset_events: row.get("has_asset_events")?,
    })
}
