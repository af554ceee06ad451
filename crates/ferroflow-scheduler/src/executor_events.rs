//! An executor's event meets the row of its task instance.
//!
//! What the row says counts for more than what an executor says: the worker writes it itself. So most events only tell
//! which run to examine. But where the executor is done with a try whose row says that it is queued or running, nothing
//! runs it any more, and it fails here.

use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::{Refusal, Service};
use ferroflow_executor::EventKind;
use ferroflow_model::outcome::{EventRow, EventTask, ExecutorEvent, Ignored, Outcome, executor_event};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::metrics::{TaskTags, scheduling};
use uuid::Uuid;

use crate::Error;
use crate::executors::TrackedEvent;
use crate::metrics;

/// Why a try has ended of which its executor tells nothing else.
const UNKNOWN_END: &str = "The executor does not know what became of it.";

/// What an event led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessedEvent {
    /// The task instance.
    pub key: TaskInstanceKey,
    /// The identity of its try.
    pub id: Uuid,
    /// What was done.
    pub what: EventOutcome,
}

/// How an event and a row met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventOutcome {
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
    RecordedFailure(Outcome),
    /// What should have been written was refused.
    Refused(String),
}

impl TrackedEvent {
    /// Why a try has ended that told nothing itself.
    pub(crate) fn why_it_ended(&self) -> &str {
        match &self.kind {
            EventKind::NotStarted(reason) => reason,
            EventKind::StateSet(_) | EventKind::Waits | EventKind::Ended | EventKind::SlotFree => UNKNOWN_END,
        }
    }
}

impl ProcessedEvent {
    /// Whether the run may have something to do now. Nothing else tells of a row that a worker has changed.
    pub fn is_news(&self) -> bool {
        !matches!(self.what, EventOutcome::Over | EventOutcome::Waits)
    }
}

/// Brings an event and its row together; `job_id` is the scheduler that queued the row.
pub async fn process_executor_event(
    db: &Db,
    service: &Service,
    job_id: Option<i64>,
    tracked: &TrackedEvent,
) -> Result<ProcessedEvent, Error> {
    let what = match &tracked.kind {
        EventKind::StateSet(state) => EventOutcome::Told(*state),
        EventKind::SlotFree => EventOutcome::Over,
        EventKind::Waits => EventOutcome::Waits,
        EventKind::Ended if tracked.is_told => EventOutcome::Over,
        EventKind::Ended => meet(db, service, job_id, tracked, TaskState::Success, UNKNOWN_END).await?,
        EventKind::NotStarted(reason) => {
            meet(db, service, job_id, tracked, TaskState::Failed, reason).await?
        }
    };
    Ok(ProcessedEvent { key: tracked.task.key.clone(), id: tracked.task.id, what })
}

/// A try has failed and could not report it; it is retried if it may be.
pub(crate) async fn record_failure(
    service: &Service,
    id: Uuid,
    try_number: i32,
    reason: &str,
) -> Result<EventOutcome, Error> {
    match service.fail_unreported(id, try_number, reason).await {
        Ok(Outcome::Ignored(why)) => Ok(EventOutcome::Ignored(why)),
        Ok(outcome) => Ok(EventOutcome::RecordedFailure(outcome)),
        Err(Refusal::Database(error)) => Err(error.into()),
        Err(refusal) => {
            tracing::warn!(%id, "failure of a task instance cannot be recorded: {refusal}");
            Ok(EventOutcome::Refused(refusal.to_string()))
        }
    }
}

/// An executor is done with a try that has told nothing.
async fn meet(
    db: &Db,
    service: &Service,
    job_id: Option<i64>,
    tracked: &TrackedEvent,
    end: TaskState,
    reason: &str,
) -> Result<EventOutcome, Error> {
    let (id, try_number) = (tracked.task.id, tracked.task.try_number);
    let row = db.read(|tx| task_instance::find(tx, id).scope_boxed()).await?;
    let Some(row) = row else { return Ok(EventOutcome::Gone) };
    if let Some(why) = why_ignored(&row, job_id, tracked, end) {
        return Ok(EventOutcome::Ignored(why));
    }
    let met = record_failure(service, id, try_number, reason).await?;
    if let EventOutcome::RecordedFailure(outcome) = met {
        let task = TaskTags { dag_id: &row.key.dag_id, task_id: &row.key.task_id };
        scheduling::killed_externally(task);
        metrics::failed(task, row.operator.as_deref(), outcome);
    }
    Ok(met)
}

/// Why an event changes nothing, if so. What becomes of the row otherwise is decided with its DAG, when it is written.
fn why_ignored(
    row: &TaskInstance,
    job_id: Option<i64>,
    tracked: &TrackedEvent,
    end: TaskState,
) -> Option<Ignored> {
    // It may not have started since another process has changed its row.
    let is_not_started = matches!(tracked.kind, EventKind::NotStarted(_));
    if is_not_started && row.state != Some(TaskState::Queued) {
        return Some(Ignored::RowKnows(row.state));
    }
    let event = ExecutorEvent { state: Some(end), try_number: tracked.task.try_number };
    let event_row = EventRow {
        state: row.state,
        try_number: row.try_number,
        max_tries: row.max_tries,
        is_queued_by_me: row.queued_by_job_id == job_id,
        has_next_method: row.next_method.is_some(),
    };
    let any_task = EventTask { retries: 0, fail_fast: false };
    match executor_event(event, event_row, tracked.is_still_known, Some(any_task)) {
        Outcome::Ignored(why) => Some(why),
        _ => None,
    }
}
