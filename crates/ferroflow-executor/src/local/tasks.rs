//! Task instances, each with a supervisor.

use std::sync::Arc;

use ferroflow_model::state::TaskState;
use ferroflow_python::Remains;
use ferroflow_supervisor::{ExecuteTask, Supervised, Ticket, Watcher};

use super::Shared;
use crate::{EventKind, TaskTry, WorkloadKey};

/// Runs one to its end. It has its slot from now on, before the future is polled.
pub(super) fn run(shared: &Arc<Shared>, task: ExecuteTask) -> impl Future<Output = ()> + Send + use<> {
    let (ticket, orders) = shared.running.add(task.ti.id);
    let reporter = Reporter { shared: Arc::clone(shared), ticket, task: TaskTry::from(&task.ti) };
    async move {
        let supervision = Arc::clone(&reporter.shared.supervision);
        let mut slot = Slot { reporter: &reporter, what: Some(EventKind::Ended) };
        match supervision.supervise(&task, &reporter, orders).await {
            Supervised::Ended => {}
            Supervised::NotStarted(reason) => slot.what = Some(EventKind::NotStarted(reason)),
            Supervised::GivenUp(remains) => {
                slot.tell();
                supervision.until_gone(&remains).await;
                slot.what = Some(EventKind::SlotFree);
            }
        }
    }
}

/// Hands on what a supervisor tells.
struct Reporter {
    shared: Arc<Shared>,
    ticket: Ticket,
    task: TaskTry,
}

/// The slot of a task instance: free when this is dropped, however its supervisor ended.
struct Slot<'a> {
    reporter: &'a Reporter,
    /// What is told at its end, if it was not told before.
    what: Option<EventKind>,
}

impl Slot<'_> {
    /// Tells the end of a task before its slot is free.
    fn tell(&mut self) {
        self.reporter.shared.running.settled(self.reporter.ticket);
        if let Some(what) = self.what.take() {
            self.reporter.report(what);
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.reporter.shared.running.remove(self.reporter.ticket);
        self.reporter.shared.slots.one_is_free();
        if let Some(what) = self.what.take() {
            self.reporter.report(what);
        }
    }
}

impl Reporter {
    fn report(&self, what: EventKind) {
        self.shared.events.send(WorkloadKey::Task(self.task.clone()), what);
    }
}

impl Watcher for Reporter {
    fn started(&self, pid: i32) {
        self.shared.running.started(self.ticket, pid);
    }

    fn cannot_be_killed(&self, remains: &Remains) {
        self.shared.running.cannot_be_killed(self.ticket, remains.clone());
    }

    fn waits_for_long(&self) {
        if self.shared.running.give_slot_back(self.ticket) {
            self.shared.slots.one_is_free();
            self.report(EventKind::Waits);
        }
    }

    fn telling(&self, is_telling: bool) {
        self.shared.running.tells(self.ticket, is_telling);
    }

    fn state_set(&self, state: TaskState) {
        self.shared.running.settled(self.ticket);
        self.report(EventKind::StateSet(state));
    }

    fn moved_on(&self) {
        self.shared.running.settled(self.ticket);
    }
}
