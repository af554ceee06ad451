//! What every executor is to a scheduler.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_model::state::TaskState;
use uuid::Uuid;

use crate::Workload;

/// Runs task instances somewhere, and tells what happens to them.
///
/// What an executor knows is never the truth: that is in the rows. It only tells when to look at them.
pub trait Executor: Send {
    /// How many more task instances it takes now.
    fn free_slots(&self) -> usize;
    /// Takes a queued task instance.
    fn submit(&mut self, workload: Workload);
    /// What happens next; waits for it, without end if nothing runs. May be abandoned and called again.
    fn next_event(&mut self) -> impl Future<Output = Event> + Send;
    /// Ends a task instance that should not run any more. Its row has been changed already.
    fn terminate(&mut self, id: Uuid);
}

/// Something happened to a task instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Which try it is.
    pub try_number: i32,
    /// What happened.
    pub what: EventKind,
}

/// What happened to a task instance.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// Its row has this state now; its process may still be busy with what follows: callbacks, listeners.
    StateSet(TaskState),
    /// Its slot is free, but what became of it is not in its row yet, which cannot be read. It is told once that can be.
    Waits,
    /// Its process has ended and its slot is free. Its row tells what became of it. (The slot of a process that cannot be
    /// killed is free only once it is gone,
    Ended,
    /// which is told by this.)
    SlotFree,
    /// It was not started, and its row is as it was: why.
    NotStarted(String),
}
