//! Task instances of which something should have been heard by now.

use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::task_instance::execution::Continuation;
use crate::task_instance::orphans::key;
use crate::{Error, Json, Page, Tx};

/// One that runs, and has not been heard of for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutHeartbeat {
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Where it stands.
    pub state: TaskState,
    /// Which try it is.
    pub try_number: i32,
    /// When it was last heard of.
    pub last_heartbeat_at: Option<Timestamp>,
}

/// One that is queued, and has been for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Which try it is.
    pub try_number: i32,
    /// Since when.
    pub queued_dttm: Option<Timestamp>,
    /// The executor that its task asks for.
    pub executor: Option<String>,
}

/// One that waits for a trigger or a person, and has for too long. It is locked.
#[derive(Clone, Debug, PartialEq)]
pub struct Overdue {
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// The method it was to go on with.
    pub next_method: Option<String>,
    /// What that method was to be given; `None` too if that is not JSON.
    pub next_kwargs: Option<Json>,
}

/// Those of a scheduler that run and were last heard of before a time, by id and after one, as many as asked for.
pub async fn without_heartbeat(
    tx: &mut Tx,
    before: Timestamp,
    job_id: i64,
    after: Uuid,
    limit: u32,
) -> Result<Page<WithoutHeartbeat, Uuid>, Error> {
    let binds = binds![before, job_id, after, i64::from(limit)];
    let rows = tx.fetch_all(sql!("task_instance/without_heartbeat"), binds).await?;
    tx.page(&rows, limit.into(), read_silent)
}

/// Locks one that runs and was last heard of before a time. False if that is not so any more, or if another transaction has it.
pub async fn lock_without_heartbeat(tx: &mut Tx, id: Uuid, before: Timestamp) -> Result<bool, Error> {
    Ok(tx.fetch_optional(sql!("task_instance/lock_without_heartbeat"), binds![id, before]).await?.is_some())
}

/// Those of a scheduler that were queued before a time and are, by id and after one, as many as asked for.
pub async fn stuck(
    tx: &mut Tx,
    before: Timestamp,
    job_id: i64,
    after: Uuid,
    limit: u32,
) -> Result<Page<Stuck, Uuid>, Error> {
    let binds = binds![before, job_id, after, i64::from(limit)];
    let rows = tx.fetch_all(sql!("task_instance/stuck"), binds).await?;
    tx.page(&rows, limit.into(), read_stuck)
}

/// Locks one that a scheduler queued before a time. False if that is not so any more, or if another transaction has it.
pub async fn lock_stuck(tx: &mut Tx, id: Uuid, before: Timestamp, job_id: i64) -> Result<bool, Error> {
    Ok(tx.fetch_optional(sql!("task_instance/lock_stuck"), binds![id, before, job_id]).await?.is_some())
}

/// How often one try was noted as this, since it last ran.
pub async fn count_events(
    tx: &mut Tx,
    key: &TaskInstanceKey,
    try_number: i32,
    event: &str,
) -> Result<i64, Error> {
    let (dag_id, task_id, run_id) = (key.dag_id.as_str(), key.task_id.as_str(), key.run_id.as_str());
    let binds = binds![dag_id, task_id, run_id, key.map_index, try_number, event];
    let row = tx.fetch_optional(sql!("log/times_stuck"), binds).await?;
    row.map_or(Ok(0), |row| row.get("total"))
}

/// Lets one that is queued be queued anew. False if it is not queued any more.
pub async fn requeue(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("task_instance/requeue"), binds![now, now, id]).await? == 1)
}

/// Locks those in a state that were to wait until a time before `now`, by id and after one, as many as asked for.
pub async fn lock_waiting(
    tx: &mut Tx,
    state: TaskState,
    now: Timestamp,
    after: Uuid,
    limit: u32,
) -> Result<Page<Overdue, Uuid>, Error> {
    let binds = binds![state.as_str(), now, after, i64::from(limit)];
    let rows = tx.fetch_all(sql!("task_instance/lock_overdue"), binds).await?;
    tx.page(&rows, limit.into(), overdue)
}

/// Lets those that wait in a state go on with this. Returns how many did.
pub async fn resume_timed_out(
    tx: &mut Tx,
    ids: &[Uuid],
    from: TaskState,
    continuation: Continuation<'_>,
    now: Timestamp,
) -> Result<u64, Error> {
    let Continuation { method, kwargs } = continuation;
    let mut binds = binds![method, kwargs.clone(), now, now];
    binds.push(ids.iter().copied().collect::<Bind>());
    binds.extend(binds![from.as_str()]);
    tx.execute(sql!("task_instance/time_out"), binds).await
}

fn read_silent(row: &Row) -> Result<WithoutHeartbeat, Error> {
    Ok(WithoutHeartbeat {
        id: row.get("id")?,
        key: key(row)?,
        state: row.get_parsed("state")?,
        try_number: row.get("try_number")?,
        last_heartbeat_at: row.optional("last_heartbeat_at")?,
    })
}

fn read_stuck(row: &Row) -> Result<Stuck, Error> {
    Ok(Stuck {
        id: row.get("id")?,
        key: key(row)?,
        try_number: row.get("try_number")?,
        queued_dttm: row.optional("queued_dttm")?,
        executor: row.optional("executor")?,
    })
}

fn overdue(row: &Row) -> Result<Overdue, Error> {
    Ok(Overdue {
        id: row.get("id")?,
        key: key(row)?,
        next_method: row.optional("next_method")?,
        // One row that is not JSON must not keep back the others.
        next_kwargs: row.json("next_kwargs").unwrap_or_default(),
    })
}
