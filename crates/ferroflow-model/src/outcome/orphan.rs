//! Task instances whose scheduler is gone.

use crate::state::{JobState, RunState, TaskState};

/// What the rows of a task instance, its run and the job of its scheduler say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrphanRow {
    /// Its state.
    pub state: Option<TaskState>,
    /// The state of its run.
    pub run_state: RunState,
    /// The scheduler that queued it.
    pub queued_by: QueuedBy,
}

/// Who queued a task instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedBy {
    /// The row names no scheduler.
    Nobody,
    /// A scheduler whose job was deleted, as `db clean` does with old ones: it is long gone.
    Deleted,
    /// A scheduler whose job is in this state.
    Job(Option<JobState>),
}

/// Whether a scheduler has to look after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphan {
    /// No: no executor has it.
    NotHandedOut,
    /// No: its run does not run.
    RunNotRunning,
    /// No: its scheduler lives.
    SchedulerLives,
    /// No: it cannot be told whose it was. Neither can Airflow, which leaves it alone too.
    NobodyToMiss,
    /// Yes: the executor is asked whether it can take it over.
    Orphaned,
}

/// What becomes of an orphan once the executor was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It goes on; this scheduler looks after it from now on.
    Adopted,
    /// This try goes into the history, the row gets a new id, so that its worker, if it lives, is turned away, and
    /// it has no state again.
    Reset,
}

/// Whether a task instance has lost its scheduler.
pub fn orphan(row: OrphanRow) -> Orphan {
    if !row.state.is_some_and(TaskState::is_adoptable) {
        return Orphan::NotHandedOut;
    }
    match row.run_state {
        RunState::Running => {}
        RunState::Queued | RunState::Success | RunState::Failed => return Orphan::RunNotRunning,
    }
    match row.queued_by {
        QueuedBy::Nobody => Orphan::NobodyToMiss,
        QueuedBy::Job(Some(JobState::Running)) => Orphan::SchedulerLives,
        QueuedBy::Deleted
        | QueuedBy::Job(None | Some(JobState::Success | JobState::Failed | JobState::Restarting)) => {
            Orphan::Orphaned
        }
    }
}

/// What becomes of an orphan: `is_taken` is the executor's answer, or missing where there is no such executor. Then
/// nothing proves that it does not run, and it is adopted as it is.
pub fn adoption(is_taken: Option<bool>) -> Adoption {
    match is_taken {
        Some(true) | None => Adoption::Adopted,
        Some(false) => Adoption::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: OrphanRow = OrphanRow {
        state: Some(TaskState::Running),
        run_state: RunState::Running,
        queued_by: QueuedBy::Job(Some(JobState::Failed)),
    };

    #[test]
    fn what_was_handed_out_by_a_scheduler_that_is_gone_is_an_orphan() {
        for state in TaskState::ALL {
            let is_orphan = orphan(OrphanRow { state: Some(*state), ..ROW }) == Orphan::Orphaned;
            assert_eq!(is_orphan, state.is_adoptable(), "{state}");
        }
        assert_eq!(orphan(OrphanRow { state: None, ..ROW }), Orphan::NotHandedOut);
        for job in [None, Some(JobState::Success), Some(JobState::Failed), Some(JobState::Restarting)] {
            assert_eq!(orphan(OrphanRow { queued_by: QueuedBy::Job(job), ..ROW }), Orphan::Orphaned);
        }
    }

    #[test]
    fn one_whose_scheduler_was_forgotten_is_an_orphan_too() {
        assert_eq!(orphan(OrphanRow { queued_by: QueuedBy::Deleted, ..ROW }), Orphan::Orphaned);
    }

    #[test]
    fn what_is_looked_after_or_cannot_be_told_is_left_alone() {
        let of = |queued_by| orphan(OrphanRow { queued_by, ..ROW });
        assert_eq!(of(QueuedBy::Job(Some(JobState::Running))), Orphan::SchedulerLives);
        assert_eq!(of(QueuedBy::Nobody), Orphan::NobodyToMiss);
        for run_state in [RunState::Queued, RunState::Success, RunState::Failed] {
            assert_eq!(orphan(OrphanRow { run_state, ..ROW }), Orphan::RunNotRunning);
        }
    }

    #[test]
    fn what_the_executor_does_not_take_starts_over() {
        assert_eq!(adoption(Some(false)), Adoption::Reset);
        assert_eq!(adoption(Some(true)), Adoption::Adopted);
        assert_eq!(adoption(None), Adoption::Adopted);
    }
}
