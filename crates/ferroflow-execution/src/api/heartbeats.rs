//! Heartbeats of all task instances that a host runs.

use uuid::Uuid;

use crate::Refusal;

/// The process of a task instance on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// The task instance: the id of its try.
    pub id: Uuid,
    pub pid: i32,
}

/// What came of a heartbeat that was not taken.
#[derive(Debug)]
pub enum Unheard {
    /// The API was reached, and does not say why: others may have locked the row. It is worth repeating soon.
    NotTaken,
    /// The task instance is not to run any more, or not in this process (404, 409 or 410): the process is to be ended.
    Refused(Refusal),
    /// The API did not answer, or failed.
    Failed(Refusal),
}

impl Unheard {
    /// What a refusal of the API means for a heartbeat.
    pub(super) fn of(refusal: Refusal) -> Self {
        match refusal.status() {
            Some(404 | 409 | 410) => Self::Refused(refusal),
            _ => Self::Failed(refusal),
        }
    }
}
