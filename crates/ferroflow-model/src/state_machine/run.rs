//! The states of DAG runs.

use crate::state::{RunState, words};

words! {
    /// Something that happens to a DAG run.
    RunEvent, "event of a DAG run":
    /// The scheduler: its DAG has room for it.
    Started = "there is room for it",
    /// The scheduler: every task is done, and the last ones ended well.
    Succeeded = "all is done, and the last tasks ended well",
    /// The scheduler: every task is done, and one of the last failed.
    Failed = "all is done, and one of the last tasks failed",
    /// The scheduler: no task can ever run again, and not all are done.
    Deadlocked = "no task can ever run again",
    /// The scheduler: it took longer than the DAG allows.
    TimedOut = "it took too long",
    /// A person: tasks of it are to run again. One that is not over goes on.
    Cleared = "tasks of it are cleared",
    /// A person: it is to run again.
    MarkedQueued = "it is marked as queued",
    /// A person: it is to end well. While a teardown of it is not done, this waits.
    MarkedSuccess = "it is marked as success",
    /// A person: it is to end badly. While a teardown of it is not done, this waits.
    MarkedFailed = "it is marked as failed",
    /// A person: its backfill is cancelled before it began.
    BackfillCancelled = "its backfill is cancelled",
}

/// An event that does not happen to a DAG run in that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{:?} does not happen to a DAG run that is {:?}", event.as_str(), from.as_str())]
pub struct RunRefused {
    /// The state.
    pub from: RunState,
    /// The event.
    pub event: RunEvent,
}

/// The state after an event.
pub fn next_run_state(from: RunState, event: RunEvent) -> Result<RunState, RunRefused> {
    let only = |needed, next| if from == needed { Ok(next) } else { Err(RunRefused { from, event }) };
    match event {
        RunEvent::Started => only(RunState::Queued, RunState::Running),
        RunEvent::Succeeded => only(RunState::Running, RunState::Success),
        RunEvent::Failed | RunEvent::Deadlocked | RunEvent::TimedOut => {
            only(RunState::Running, RunState::Failed)
        }
        RunEvent::BackfillCancelled => only(RunState::Queued, RunState::Failed),
        RunEvent::Cleared => Ok(if from.is_finished() { RunState::Queued } else { from }),
        RunEvent::MarkedQueued => Ok(RunState::Queued),
        RunEvent::MarkedSuccess => Ok(RunState::Success),
        RunEvent::MarkedFailed => Ok(RunState::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_brings_a_run_back() {
        for from in [RunState::Success, RunState::Failed] {
            let back: Vec<_> = RunEvent::ALL
                .iter()
                .filter(|event| next_run_state(from, **event).is_ok_and(|next| !next.is_finished()))
                .collect();
            assert_eq!(back, [&RunEvent::Cleared, &RunEvent::MarkedQueued]);
        }
    }

    #[test]
    fn a_run_that_is_not_over_goes_on_when_tasks_of_it_are_cleared() {
        for from in [RunState::Queued, RunState::Running] {
            assert_eq!(next_run_state(from, RunEvent::Cleared), Ok(from));
        }
    }

    #[test]
    fn a_refusal_names_both() {
        let refused = next_run_state(RunState::Queued, RunEvent::TimedOut).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#""it took too long" does not happen to a DAG run that is "queued""#
        );
    }
}
