//! What executors say.

use std::sync::Arc;

use ferroflow_model::admission::ExecutorName;
use ferroflow_model::state::TaskState;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::WorkloadKey;

/// Something happened to a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorEvent {
    /// Which executor says so.
    pub executor: Arc<ExecutorName>,
    pub workload: WorkloadKey,
    pub kind: EventKind,
}

/// What happened. Of callbacks and connection tests only [`Ended`](Self::Ended) and [`SlotFree`](Self::SlotFree) are told.
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

/// Where an executor tells what happens. All of a scheduler's executors tell it through one channel.
#[derive(Clone, Debug)]
pub struct EventSender {
    executor: Arc<ExecutorName>,
    channel: UnboundedSender<ExecutorEvent>,
}

impl EventSender {
    /// For the executor of this name.
    pub fn new(executor: Arc<ExecutorName>, channel: UnboundedSender<ExecutorEvent>) -> Self {
        Self { executor, channel }
    }

    pub fn send(&self, workload: WorkloadKey, kind: EventKind) {
        // A scheduler that has stopped does not listen any more.
        let _ = self.channel.send(ExecutorEvent { executor: Arc::clone(&self.executor), workload, kind });
    }
}

/// What the executors of one scheduler tell.
#[derive(Debug)]
pub struct ExecutorEvents(UnboundedReceiver<ExecutorEvent>);

/// The channel of one scheduler, or of a run in the foreground.
pub fn executor_events() -> (UnboundedSender<ExecutorEvent>, ExecutorEvents) {
    let (sender, receiver) = unbounded_channel();
    (sender, ExecutorEvents(receiver))
}

impl ExecutorEvents {
    /// What happens next; waits for it, without end if there is no executor any more. May be abandoned and called again.
    pub async fn next(&mut self) -> ExecutorEvent {
        match self.0.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    /// The same, if it has happened already.
    pub fn try_next(&mut self) -> Option<ExecutorEvent> {
        self.0.try_recv().ok()
    }
}
