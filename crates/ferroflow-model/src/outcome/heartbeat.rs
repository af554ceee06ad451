//! Task instances that have gone silent.

use jiff::{SignedDuration, Timestamp};

use crate::state::TaskState;

/// What the row of a task instance says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatRow {
    /// Its state.
    pub state: Option<TaskState>,
    /// When its worker was last heard of.
    pub last_heartbeat_at: Option<Timestamp>,
    /// Whether this scheduler queued it last.
    pub is_queued_by_me: bool,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeartbeatStatus {
    /// It does not run, so nothing is to be heard.
    NotRunning,
    /// Another scheduler listens for it.
    NotMine,
    /// It has never been heard, as those that an Airflow before 3 started.
    NeverHeard,
    /// It was heard lately.
    Alive,
    /// It is silent: its executor is told to give it up, and says so as an event like any other.
    Silent {
        /// For how long.
        since: Timestamp,
    },
}

/// Whether a task instance that runs has been silent for longer than `timeout`.
///
/// Nothing else is decided here: whether it is tried again, and who is told, follows from the executor's event.
/// Airflow tells the author's callbacks twice, here and there.
pub fn heartbeat_status(row: HeartbeatRow, timeout: SignedDuration, now: Timestamp) -> HeartbeatStatus {
    match row.state {
        Some(TaskState::Running | TaskState::Restarting) => {}
        None
        | Some(
            TaskState::Scheduled
            | TaskState::Queued
            | TaskState::UpForRetry
            | TaskState::UpForReschedule
            | TaskState::Deferred
            | TaskState::AwaitingInput
            | TaskState::Success
            | TaskState::Failed
            | TaskState::Skipped
            | TaskState::UpstreamFailed
            | TaskState::Removed,
        ) => return HeartbeatStatus::NotRunning,
    }
    match row.last_heartbeat_at {
        _ if !row.is_queued_by_me => HeartbeatStatus::NotMine,
        None => HeartbeatStatus::NeverHeard,
        Some(since) if now.duration_since(since) > timeout => HeartbeatStatus::Silent { since },
        Some(_) => HeartbeatStatus::Alive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: SignedDuration = SignedDuration::from_secs(300);

    fn row(state: TaskState) -> HeartbeatRow {
        HeartbeatRow {
            state: Some(state),
            last_heartbeat_at: Some(Timestamp::UNIX_EPOCH),
            is_queued_by_me: true,
        }
    }

    fn after(seconds: i64, row: HeartbeatRow) -> HeartbeatStatus {
        heartbeat_status(row, TIMEOUT, Timestamp::from_second(seconds).unwrap())
    }

    #[test]
    fn silence_begins_after_the_timeout_and_not_with_it() {
        for state in [TaskState::Running, TaskState::Restarting] {
            assert_eq!(after(300, row(state)), HeartbeatStatus::Alive);
            assert_eq!(after(301, row(state)), HeartbeatStatus::Silent { since: Timestamp::UNIX_EPOCH });
        }
        assert_eq!(after(-1, row(TaskState::Running)), HeartbeatStatus::Alive);
    }

    #[test]
    fn only_what_runs_is_listened_to_and_only_by_its_scheduler() {
        for state in TaskState::ALL {
            let is_silent = after(999, row(*state)) != HeartbeatStatus::NotRunning;
            assert_eq!(is_silent, matches!(state, TaskState::Running | TaskState::Restarting), "{state}");
        }
        let of_another = HeartbeatRow { is_queued_by_me: false, ..row(TaskState::Running) };
        assert_eq!(after(999, of_another), HeartbeatStatus::NotMine);
        let never_heard = HeartbeatRow { last_heartbeat_at: None, ..row(TaskState::Running) };
        assert_eq!(after(999, never_heard), HeartbeatStatus::NeverHeard);
    }
}
