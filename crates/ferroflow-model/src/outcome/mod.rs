//! What becomes of a task instance when something was seen from outside of it.
//!
//! An executor says that a task is done ([`executor_event`]); a heartbeat is missing ([`heartbeat`]); the queue does
//! not move ([`stuck`]); a scheduler is gone ([`orphan`]); another task of the run failed ([`fail_fast`]); nobody has
//! answered ([`unanswered`]); the runs of a DAG keep failing ([`failing`]). Each is one function from what was loaded to a verdict, and a verdict that changes nothing
//! says why.
//!
//! What the row says always counts for more than what an executor says: the worker writes it itself.

pub mod fail_fast;
pub mod failing;
pub mod heartbeat;
pub mod orphan;
pub mod stuck;
pub mod unanswered;

use std::fmt;

use crate::retry::is_tried_again;
use crate::state::TaskState;

/// What an executor says of a task instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutorEvent {
    /// What it has become there.
    pub state: Option<TaskState>,
    /// Which try that was.
    pub try_number: i32,
}

/// What the row of the task instance says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its state.
    pub state: Option<TaskState>,
    /// Its current try.
    pub try_number: i32,
    /// How many tries it has in all, less the first.
    pub max_tries: i32,
    /// Whether this scheduler queued it last.
    pub is_queued_by_me: bool,
    /// Whether a trigger or a person has told how to go on with it.
    pub has_next_method: bool,
}

/// What the DAG says about the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTask {
    /// How often it is tried again.
    pub retries: i32,
    /// Whether the first failure of a task fails what is left of the run.
    pub fail_fast: bool,
}

/// What follows from an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Ignored(Ignored),
    /// Store the id that the executor gave it.
    IdRecorded,
    /// It is gone without a word, and so is its task: the state becomes what the executor says.
    StateTaken(TaskState),
    /// It was cleared while it ran, and its process has ended: it has no state again, and as many tries as at first.
    Restarted {
        /// The new number of tries, less the first.
        max_tries: i32,
    },
    /// It is gone without a word, and waits for its next try.
    Retried {
        /// Whether this try goes into the history, and the row gets a new id. One that did not run leaves nothing
        /// behind, and one that was cleared is there already.
        with_history: bool,
    },
    /// It is gone without a word, and has failed.
    Failed {
        /// Whether what is left of the run is stopped: see [`fail_fast`].
        stops_the_rest: bool,
    },
}

impl Outcome {
    /// The state that it leads to, if it changes the state.
    pub fn new_state(self) -> Option<Option<TaskState>> {
        match self {
            Self::Ignored(_) | Self::IdRecorded => None,
            Self::StateTaken(state) => Some(Some(state)),
            Self::Restarted { .. } => Some(None),
            Self::Retried { .. } => Some(Some(TaskState::UpForRetry)),
            Self::Failed { .. } => Some(Some(TaskState::Failed)),
        }
    }

    /// Of what the author's callbacks and mails tell: of a retry (`up_for_retry`), or of a failure (`failed`).
    ///
    /// This is the only place that tells of a try that ended without a word, so that no callback is told twice: a
    /// heartbeat that is missing leads here too.
    pub fn told_as(self) -> Option<TaskState> {
        match self {
            Self::Ignored(_) | Self::IdRecorded | Self::StateTaken(_) => None,
            Self::Restarted { .. } | Self::Retried { .. } => Some(TaskState::UpForRetry),
            Self::Failed { .. } => Some(TaskState::Failed),
        }
    }
}

/// Why an event changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// The state is none that an executor can know of.
    NotForExecutors(Option<TaskState>),
    /// It speaks of another try.
    OtherTry {
        /// Of which.
        event: i32,
        /// Which it is now.
        row: i32,
    },
    /// The row says already what became of it.
    RowKnows(Option<TaskState>),
    /// Another scheduler has queued it since.
    QueuedByAnother,
    /// The executor has it again.
    StillKnown,
    /// It was put off and may go on already; what ended is the part before.
    Resumed,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |state: &Option<TaskState>| state.map_or("none", TaskState::as_str);
        match self {
            Self::NotForExecutors(state) => {
                write!(f, "an executor does not decide that a task instance is {:?}", or_none(state))
            }
            Self::OtherTry { event, row } => write!(f, "it is about try {event}, and this is try {row}"),
            Self::RowKnows(state) => write!(f, "the row says already that it is {:?}", or_none(state)),
            Self::QueuedByAnother => f.write_str("another scheduler has queued it since"),
            Self::StillKnown => f.write_str("the executor has it again"),
            Self::Resumed => {
                f.write_str("it was put off and may go on already: what ended is the part before")
            }
        }
    }
}

/// What follows from an executor's event; `knows_it` tells whether the executor has the task instance,
/// queued or running, and `task` is missing where the DAG or the task could not be found.
pub fn executor_event(
    event: ExecutorEvent,
    row: EventRow,
    knows_it: bool,
    task: Option<EventTask>,
) -> Outcome {
    match event_kind(event.state) {
        EventKind::Unknown => Outcome::Ignored(Ignored::NotForExecutors(event.state)),
        // An id of another try would have the wrong process looked for.
        EventKind::Accepted | EventKind::Ended(_) if event.try_number != row.try_number => {
            Outcome::Ignored(Ignored::OtherTry { event: event.try_number, row: row.try_number })
        }
        EventKind::Accepted => Outcome::IdRecorded,
        EventKind::Ended(end) => match why_not_missed(end, row, knows_it) {
            Some(reason) => Outcome::Ignored(reason),
            None => ended_without_a_word(end, row, task),
        },
    }
}

enum EventKind {
    /// The executor has taken it.
    Accepted,
    /// The executor is done with it.
    Ended(TaskState),
    /// Not something that an executor says.
    Unknown,
}

fn event_kind(state: Option<TaskState>) -> EventKind {
    match state {
        Some(TaskState::Queued | TaskState::Running) => EventKind::Accepted,
        Some(end @ (TaskState::Success | TaskState::Failed | TaskState::Restarting)) => EventKind::Ended(end),
        None
        | Some(
            TaskState::Scheduled
            | TaskState::UpForRetry
            | TaskState::UpForReschedule
            | TaskState::Deferred
            | TaskState::AwaitingInput
            | TaskState::Skipped
            | TaskState::UpstreamFailed
            | TaskState::Removed,
        ) => EventKind::Unknown,
    }
}

/// Why it is no wonder that the executor is done with it; `None` if it should still be there.
fn why_not_missed(end: TaskState, row: EventRow, knows_it: bool) -> Option<Ignored> {
    match row.state {
        Some(TaskState::Scheduled | TaskState::Queued | TaskState::Running | TaskState::Restarting) => {}
        None
        | Some(
            TaskState::UpForRetry
            | TaskState::UpForReschedule
            | TaskState::Deferred
            | TaskState::AwaitingInput
            | TaskState::Success
            | TaskState::Failed
            | TaskState::Skipped
            | TaskState::UpstreamFailed
            | TaskState::Removed,
        ) => return Some(Ignored::RowKnows(row.state)),
    }
    let is_resumed = row.state == Some(TaskState::Scheduled) && row.has_next_method;
    if !row.is_queued_by_me {
        Some(Ignored::QueuedByAnother)
    } else if knows_it {
        Some(Ignored::StillKnown)
    } else if end == TaskState::Success && is_resumed {
        Some(Ignored::Resumed)
    } else {
        None
    }
}

fn ended_without_a_word(end: TaskState, row: EventRow, task: Option<EventTask>) -> Outcome {
    let Some(task) = task else {
        let is_known = row.state == Some(end);
        return if is_known {
            Outcome::Ignored(Ignored::RowKnows(row.state))
        } else {
            Outcome::StateTaken(end)
        };
    };
    if row.state == Some(TaskState::Restarting) && end == TaskState::Success {
        return Outcome::Restarted { max_tries: row.try_number.saturating_add(task.retries) };
    }
    if is_tried_again(row.state, row.try_number, row.max_tries, Some(task.retries)) {
        Outcome::Retried { with_history: row.state == Some(TaskState::Running) }
    } else {
        Outcome::Failed { stops_the_rest: task.fail_fast }
    }
}

#[cfg(test)]
mod tests;
