//! A task of a run with `fail_fast` has failed: what becomes of the other task instances of the run.

use crate::state::TaskState;

/// Another task instance of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its state.
    pub state: Option<TaskState>,
    /// Whether it is of the task that failed: another part of a mapped one.
    pub is_of_same_task: bool,
    /// Whether its task cleans up; `None` if the DAG has no such task any more.
    pub is_teardown: Option<bool>,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailFast {
    /// It stays as it is.
    Left(Left),
    /// It runs, and fails.
    Failed,
    /// It is passed over.
    Skipped,
}

/// Why it stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is of the task that failed.
    SameTask,
    /// It has succeeded or failed by itself, or was passed over before.
    Ended,
    /// It cleans up.
    Teardown,
    /// The DAG has no such task any more, so that it is not known whether it cleans up.
    NotInDag,
}

/// What becomes of another task instance of the run.
///
/// One that was not to run anyway (`upstream_failed`, `removed`) is passed over too, as in Airflow.
pub fn fail_fast(other: Other) -> FailFast {
    if other.is_of_same_task {
        return FailFast::Left(Left::SameTask);
    }
    let verdict = match other.state {
        Some(TaskState::Success | TaskState::Failed | TaskState::Skipped) => {
            return FailFast::Left(Left::Ended);
        }
        Some(TaskState::Running) => FailFast::Failed,
        None
        | Some(
            TaskState::Scheduled
            | TaskState::Queued
            | TaskState::Restarting
            | TaskState::UpForRetry
            | TaskState::UpForReschedule
            | TaskState::Deferred
            | TaskState::AwaitingInput
            | TaskState::UpstreamFailed
            | TaskState::Removed,
        ) => FailFast::Skipped,
    };
    match other.is_teardown {
        Some(false) => verdict,
        Some(true) => FailFast::Left(Left::Teardown),
        None => FailFast::Left(Left::NotInDag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(state: Option<TaskState>) -> Other {
        Other { state, is_of_same_task: false, is_teardown: Some(false) }
    }

    #[test]
    fn what_runs_fails_what_has_ended_stays_and_the_rest_is_skipped() {
        for state in std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some)) {
            let expected = match state {
                Some(TaskState::Running) => FailFast::Failed,
                Some(TaskState::Success | TaskState::Failed | TaskState::Skipped) => {
                    FailFast::Left(Left::Ended)
                }
                _ => FailFast::Skipped,
            };
            assert_eq!(fail_fast(other(state)), expected, "{state:?}");
        }
    }

    #[test]
    fn teardowns_and_parts_of_the_failed_task_are_left_alone() {
        for state in [None, Some(TaskState::Queued), Some(TaskState::Running)] {
            let same = Other { is_of_same_task: true, ..other(state) };
            assert_eq!(fail_fast(same), FailFast::Left(Left::SameTask));
            let teardown = Other { is_teardown: Some(true), ..other(state) };
            assert_eq!(fail_fast(teardown), FailFast::Left(Left::Teardown));
        }
    }

    #[test]
    fn a_task_that_the_dag_does_not_have_any_more_does_not_stop_the_others() {
        let gone = Other { is_teardown: None, ..other(Some(TaskState::Removed)) };
        assert_eq!(fail_fast(gone), FailFast::Left(Left::NotInDag));
    }
}
