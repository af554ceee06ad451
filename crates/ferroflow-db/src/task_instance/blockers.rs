//! What explains why something does not run: who holds what, and since when. Nothing here is locked or written.

use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;

use crate::statement::{Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Tx};

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedRun {
    /// Its row.
    pub id: i64,
    /// Its name.
    pub run_id: String,
    /// Whether it is queued or running.
    pub state: RunState,
    /// The backfill that it belongs to,
    pub backfill_id: Option<i32>,
    /// and its place there.
    pub sort_ordinal: Option<i32>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// When it was queued.
    pub queued_at: Option<Timestamp>,
    /// When it started.
    pub start_date: Option<Timestamp>,
}

/// A task instance that holds slots, or counts for the limit of its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotHolder {
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Where it stands.
    pub state: TaskState,
    /// The pool it takes slots from.
    pub pool: String,
    /// How many.
    pub pool_slots: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it was queued.
    pub queued_dttm: Option<Timestamp>,
    /// The scheduler that queued it.
    pub queued_by_job_id: Option<i64>,
}

/// The runs of a DAG that have not ended.
///
/// Those are among them whose state is none: nothing else finds them, and here they are shown.
pub async fn unfinished_runs(tx: &mut Tx, dag_id: &str) -> Result<Vec<UnfinishedRun>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/unfinished_of_dag"), binds![dag_id]).await?;
    let run = |row: &Row| {
        Ok(UnfinishedRun {
            id: row.get("id")?,
            run_id: row.get("run_id")?,
            state: row.get_parsed("state")?,
            backfill_id: row.optional("backfill_id")?,
            sort_ordinal: row.optional("sort_ordinal")?,
            run_after: row.get("run_after")?,
            queued_at: row.optional("queued_at")?,
            start_date: row.optional("start_date")?,
        })
    };
    tx.readable(&rows, run)
}

/// The names of the newest runs of a DAG.
pub async fn newest_runs(tx: &mut Tx, dag_id: &str, limit: i64) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/newest_names"), binds![dag_id, limit]).await?;
    tx.readable(&rows, |row| row.get("run_id"))
}

/// Every task instance that is queued, running, deferred or waiting for a person.
pub async fn slot_holders(tx: &mut Tx) -> Result<Vec<SlotHolder>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/slot_holders"), Vec::new()).await?;
    let holding = |row: &Row| {
        Ok(SlotHolder {
            key: TaskInstanceKey {
                dag_id: row.get("dag_id")?,
                run_id: row.get("run_id")?,
                task_id: row.get("task_id")?,
                map_index: row.get("map_index")?,
            },
            state: row.get_parsed("state")?,
            pool: row.get("pool")?,
            pool_slots: row.get("pool_slots")?,
            start_date: row.optional("start_date")?,
            queued_dttm: row.optional("queued_dttm")?,
            queued_by_job_id: row.optional("queued_by_job_id")?,
        })
    };
    tx.readable(&rows, holding)
}

/// The triggerer that runs a trigger.
pub async fn triggerer(tx: &mut Tx, trigger_id: i64) -> Result<Option<i64>, Error> {
    let row = tx.fetch_optional(sql!("trigger/triggerer"), binds![trigger_id]).await?;
    row.map_or(Ok(None), |row| row.optional("triggerer_id"))
}
