//! Task instances, each with a supervisor.

use std::sync::Arc;

use ferroflow_supervisor::{ExecuteTask, RunningTask, Supervised, TaskEvent};

use super::Shared;
use crate::{EventKind, TaskTry, WorkloadKey};

/// Runs one to its end. It has its slot from now on, before the future is polled.
pub(super) fn run(shared: &Arc<Shared>, task: ExecuteTask) -> impl Future<Output = ()> + Send + use<> {
    let mut slot = Slot {
        running: shared.running.add(task.ti.id),
        shared: Arc::clone(shared),
        task: TaskTry::from(&task.ti),
        at_end: Some(EventKind::Ended),
    };
    async move {
        match slot.supervise(&task).await {
            Supervised::Ended => {}
            Supervised::NotStarted(reason) => slot.end_with(EventKind::NotStarted(reason)),
            Supervised::GivenUp(remains) => {
                slot.send_end();
                slot.shared.supervision.until_gone(&remains).await;
                slot.end_with(EventKind::SlotFree);
            }
        }
    }
}

/// The slot of a task instance: free when this is dropped, however its supervisor ended.
struct Slot {
    shared: Arc<Shared>,
    task: TaskTry,
    running: RunningTask,
    /// What is sent when this is dropped, if it was not sent before.
    at_end: Option<EventKind>,
}

impl Slot {
    async fn supervise(&self, task: &ExecuteTask) -> Supervised {
        let on_event = |event| match event {
            TaskEvent::StateSet(state) => self.send(EventKind::StateSet(state)),
            TaskEvent::Waits => {
                self.shared.slots.one_is_free();
                self.send(EventKind::Waits);
            }
        };
        self.shared.supervision.supervise(task, &self.running, &on_event).await
    }

    fn end_with(&mut self, kind: EventKind) {
        self.at_end = Some(kind);
    }

    /// Sends the end of a task before its slot is free.
    fn send_end(&mut self) {
        self.running.settled();
        if let Some(kind) = self.at_end.take() {
            self.send(kind);
        }
    }

    fn send(&self, kind: EventKind) {
        self.shared.events.send(WorkloadKey::Task(self.task.clone()), kind);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.running.end();
        self.shared.slots.one_is_free();
        if let Some(kind) = self.at_end.take() {
            self.send(kind);
        }
    }
}
