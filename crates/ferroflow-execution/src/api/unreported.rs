//! Processes that ended without reporting a state.

use jiff::Timestamp;
use uuid::Uuid;

/// The process of a task instance has ended, and has not reported a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreportedEnd {
    /// The task instance: the id of its try.
    pub id: Uuid,
    pub try_number: i32,
    pub hostname: String,
    pub pid: i32,
    /// Whether it may be tried again, as [`RunContext`](super::RunContext) said at its start.
    pub should_retry: bool,
    pub end_date: Timestamp,
    /// How it ended: a sentence.
    pub reason: String,
}
