//! Task instances that were handed to an executor and do not start.

use jiff::{SignedDuration, Timestamp};

use crate::state::TaskState;

/// What the row of a task instance says, and what was done about it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StuckRow {
    /// Its state.
    pub state: Option<TaskState>,
    /// When it was queued.
    pub queued_at: Option<Timestamp>,
    /// Whether this scheduler queued it.
    pub is_queued_by_me: bool,
    /// Whether its executor can take a task back.
    pub can_be_revoked: bool,
    /// How often this try was taken back already, since it last ran.
    pub times_taken_back: u32,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// It is not queued.
    NotQueued,
    /// Another scheduler looks after it.
    NotMine,
    /// It has not waited for too long, or it is not known for how long.
    Waiting,
    /// It has, but its executor cannot take it back, so a second one might start beside it.
    CannotBeRevoked,
    /// Take it back from the executor, and let it be queued again.
    TakeBack,
    /// Take it back, and fail it for good: that was done often enough. Tries that are left do not count.
    Fail,
}

/// Whether a task instance has been queued for longer than `timeout`, and what then; `most` is how often one is
/// taken back.
pub fn stuck(row: StuckRow, timeout: SignedDuration, most: u32, now: Timestamp) -> Stuck {
    if row.state != Some(TaskState::Queued) {
        return Stuck::NotQueued;
    }
    if !row.is_queued_by_me {
        return Stuck::NotMine;
    }
    if row.queued_at.is_none_or(|queued_at| now.duration_since(queued_at) <= timeout) {
        return Stuck::Waiting;
    }
    if !row.can_be_revoked {
        return Stuck::CannotBeRevoked;
    }
    if row.times_taken_back < most { Stuck::TakeBack } else { Stuck::Fail }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: StuckRow = StuckRow {
        state: Some(TaskState::Queued),
        queued_at: Some(Timestamp::UNIX_EPOCH),
        is_queued_by_me: true,
        can_be_revoked: true,
        times_taken_back: 0,
    };

    fn after(seconds: i64, row: StuckRow) -> Stuck {
        stuck(row, SignedDuration::from_secs(600), 2, Timestamp::from_second(seconds).unwrap())
    }

    #[test]
    fn it_is_taken_back_twice_and_then_fails() {
        let taken_back = |times_taken_back| after(601, StuckRow { times_taken_back, ..ROW });
        assert_eq!(taken_back(0), Stuck::TakeBack);
        assert_eq!(taken_back(1), Stuck::TakeBack);
        assert_eq!(taken_back(2), Stuck::Fail);
        assert_eq!(taken_back(u32::MAX), Stuck::Fail);
    }

    #[test]
    fn nothing_is_done_about_one_that_waits_or_is_somebody_else_s() {
        assert_eq!(after(600, ROW), Stuck::Waiting);
        assert_eq!(after(601, StuckRow { queued_at: None, ..ROW }), Stuck::Waiting);
        assert_eq!(after(601, StuckRow { is_queued_by_me: false, ..ROW }), Stuck::NotMine);
        assert_eq!(after(601, StuckRow { can_be_revoked: false, ..ROW }), Stuck::CannotBeRevoked);
        for state in TaskState::ALL.iter().filter(|state| **state != TaskState::Queued) {
            assert_eq!(after(601, StuckRow { state: Some(*state), ..ROW }), Stuck::NotQueued, "{state}");
        }
    }
}
