//! An executor's event meets the row of its task instance.
//!
//! What the row says counts for more than what an executor says: the worker writes it itself. So most events only tell
//! which run is to be looked at. But where the executor is done with a try whose row says that somebody works on it,
//! nobody does, and nobody else will end it.

use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::{Refusal, Service};
use ferroflow_executor::Happening;
use ferroflow_model::outcome::{EventRow, EventTask, ExecutorEvent, Ignored, Outcome, executor_event};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::metrics::{TaskTags, scheduling};
use uuid::Uuid;

use crate::Error;
use crate::executors::Heard;
use crate::metrics;

/// Why a try has ended of which its executor tells nothing else.
const UNKNOWN_END: &str = "The executor does not know what became of it.";

/// What an event led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harvested {
    /// The task instance.
    pub key: TaskInstanceKey,
    /// The identity of its try.
    pub id: Uuid,
    /// What was done.
    pub what: Met,
}

/// How an event and a row met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Met {
    /// The task has written this state itself.
    Told(TaskState),
    /// Its process has ended, after what became of it was told.
    Over,
    /// What became of it is told later.
    Waits,
    /// There is no such try any more: it was cleared, or has gone into the history.
    Gone,
    /// The row is right as it is.
    Ignored(Ignored),
    /// It had ended without a word, and this was written.
    PutDown(Outcome),
    /// What should have been written was refused.
    Refused(String),
}

impl Heard {
    /// Why a try has ended that told nothing itself.
    pub(crate) fn why_it_ended(&self) -> &str {
        match &self.event.what {
            Happening::NotStarted(reason) => reason,
            Happening::StateSet(_) | Happening::Waits | Happening::Ended | Happening::SlotFree => UNKNOWN_END,
        }
    }
}

impl Harvested {
    /// Whether the run may have something to do now. Nothing else tells of a row that somebody has changed.
    pub fn is_news(&self) -> bool {
        !matches!(self.what, Met::Over | Met::Waits)
    }
}

/// Brings an event and its row together; `job_id` is whoever queued the row, as it is written there.
pub async fn harvest(
    db: &Db,
    service: &Service,
    job_id: Option<i64>,
    heard: &Heard,
) -> Result<Harvested, Error> {
    let what = match &heard.event.what {
        Happening::StateSet(state) => Met::Told(*state),
        Happening::SlotFree => Met::Over,
        Happening::Waits => Met::Waits,
        Happening::Ended if heard.is_told => Met::Over,
        Happening::Ended => meet(db, service, job_id, heard, TaskState::Success, UNKNOWN_END).await?,
        Happening::NotStarted(reason) => meet(db, service, job_id, heard, TaskState::Failed, reason).await?,
    };
    Ok(Harvested { key: heard.event.key.clone(), id: heard.event.id, what })
}

/// A try has failed without a word, and is tried again if it may be.
pub(crate) async fn put_down(
    service: &Service,
    id: Uuid,
    try_number: i32,
    reason: &str,
) -> Result<Met, Error> {
    match service.ended_without_a_word(id, try_number, reason).await {
        Ok(Outcome::Ignored(why)) => Ok(Met::Ignored(why)),
        Ok(outcome) => Ok(Met::PutDown(outcome)),
        Err(Refusal::Database(error)) => Err(error.into()),
        Err(refusal) => {
            tracing::warn!(%id, "a task instance is left as it is: {refusal}");
            Ok(Met::Refused(refusal.to_string()))
        }
    }
}

/// An executor is done with a try that has told nothing.
async fn meet(
    db: &Db,
    service: &Service,
    job_id: Option<i64>,
    heard: &Heard,
    end: TaskState,
    reason: &str,
) -> Result<Met, Error> {
    let (id, try_number) = (heard.event.id, heard.event.try_number);
    let row = db.read(|tx| task_instance::find(tx, id).scope_boxed()).await?;
    let Some(row) = row else { return Ok(Met::Gone) };
    if let Some(why) = why_ignored(&row, job_id, heard, end) {
        return Ok(Met::Ignored(why));
    }
    let met = put_down(service, id, try_number, reason).await?;
    if let Met::PutDown(outcome) = met {
        let task = TaskTags { dag_id: &row.key.dag_id, task_id: &row.key.task_id };
        scheduling::killed_externally(task);
        metrics::failed(task, row.operator.as_deref(), outcome);
    }
    Ok(met)
}

/// Why an event changes nothing, if so. What becomes of the row otherwise is decided with its DAG, when it is written.
fn why_ignored(row: &TaskInstance, job_id: Option<i64>, heard: &Heard, end: TaskState) -> Option<Ignored> {
    // That somebody else has taken it may be why it was not started.
    let is_not_started = matches!(heard.event.what, Happening::NotStarted(_));
    if is_not_started && row.state != Some(TaskState::Queued) {
        return Some(Ignored::RowKnows(row.state));
    }
    let event = ExecutorEvent { state: Some(end), try_number: heard.event.try_number };
    let event_row = EventRow {
        state: row.state,
        try_number: row.try_number,
        max_tries: row.max_tries,
        is_queued_by_me: row.queued_by_job_id == job_id,
        has_next_method: row.next_method.is_some(),
    };
    let any_task = EventTask { retries: 0, fail_fast: false };
    match executor_event(event, event_row, heard.is_still_known, Some(any_task)) {
        Outcome::Ignored(why) => Some(why),
        _ => None,
    }
}
