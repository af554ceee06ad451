//! Callbacks that executors run.

use jiff::Timestamp;
use uuid::Uuid;

/// A callback that an executor has been given, and the process that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldCallback {
    pub id: Uuid,
    /// The job of the scheduler that has queued it.
    pub job_id: i64,
    /// None before it has begun.
    pub process: Option<CallbackProcess>,
}

/// The process of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackProcess {
    pub hostname: String,
    pub pid: i32,
    /// When it was known to run: its number may be another's later.
    pub seen: Timestamp,
}
