//! Who has the slots, which callbacks and connection tests share with tasks.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_supervisor::Running;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{EventKind, EventSender, Slots, WorkloadKey};

/// The slots of one executor.
pub(super) struct SlotTable {
    /// The task instances that it runs.
    running: Arc<Running>,
    all: usize,
    state: Mutex<State>,
    /// For those that wait for a slot.
    freed: Notify,
    events: EventSender,
}

/// What callbacks and connection tests have.
#[derive(Default)]
struct State {
    /// All of them, with those that wait for a slot.
    present: HashSet<Uuid>,
    /// How many have a slot.
    begun: usize,
    /// How many of these are over, and keep it for a process that cannot be killed.
    remnants: usize,
}

impl SlotTable {
    pub(super) fn new(running: Arc<Running>, all: usize, events: EventSender) -> Self {
        Self { running, all, state: Mutex::default(), freed: Notify::new(), events }
    }

    /// A callback or connection test is here from now on, until its [`entry`](Self::entry) is dropped.
    pub(super) fn add(&self, key: &WorkloadKey) {
        self.lock().present.insert(key.id());
    }

    pub(super) fn entry(&self, key: WorkloadKey) -> Entry<'_> {
        Entry { table: self, key }
    }

    /// Waits for a slot.
    pub(super) async fn slot(&self) -> Slot<'_> {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            {
                let mut state = self.lock();
                if self.running.slots() + state.begun < self.all {
                    state.begun += 1;
                    return Slot { table: self };
                }
            }
            freed.await;
        }
    }

    /// The slot of one that is over is not free as long as this is there.
    pub(super) fn remnant(&self, key: WorkloadKey) -> Remnant<'_> {
        self.lock().remnants += 1;
        Remnant { table: self, key }
    }

    pub(super) fn has(&self, id: Uuid) -> bool {
        self.lock().present.contains(&id)
    }

    pub(super) fn taken(&self) -> Slots {
        let state = self.lock();
        Slots { all: self.all, tasks: self.running.slots(), others: state.present.len() + state.remnants }
    }

    /// A slot is free again.
    pub(super) fn one_is_free(&self) {
        self.freed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A callback or connection test that is here: it is not any more when this is dropped, however it ended.
pub(super) struct Entry<'a> {
    table: &'a SlotTable,
    key: WorkloadKey,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.table.lock().present.remove(&self.key.id());
        self.table.events.send(self.key.clone(), EventKind::Ended);
    }
}

/// The slot of a callback or connection test.
pub(super) struct Slot<'a> {
    table: &'a SlotTable,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.table.lock().begun -= 1;
        self.table.one_is_free();
    }
}

/// What is left of one that is over: a process that cannot be killed.
pub(super) struct Remnant<'a> {
    table: &'a SlotTable,
    key: WorkloadKey,
}

impl Drop for Remnant<'_> {
    fn drop(&mut self) {
        self.table.lock().remnants -= 1;
        self.table.events.send(self.key.clone(), EventKind::SlotFree);
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_model::admission::ExecutorName;
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn a_process_that_cannot_be_killed_keeps_its_slot() {
        let (sender, mut events) = unbounded_channel();
        let name = ExecutorName { alias: None, module_path: "a.Executor".into(), team: None };
        let table = SlotTable::new(Arc::default(), 2, EventSender::new(Arc::new(name), sender));
        let (id, taken) = (Uuid::from_u128(1), |others| Slots { all: 2, tasks: 0, others });
        let key = WorkloadKey::Callback(id);
        table.add(&key);
        let (entry, slot) = (table.entry(key.clone()), table.slot().await);
        assert_eq!((table.has(id), table.taken()), (true, taken(1)));
        let remnant = table.remnant(key.clone());
        drop(entry);
        assert_eq!(events.recv().await.unwrap().kind, EventKind::Ended);
        assert!(!table.has(id), "a scheduler that stops does not wait for it");
        assert_eq!(table.taken(), taken(1), "neither a task nor another callback has its slot");
        drop(remnant);
        drop(slot);
        let freed = events.recv().await.unwrap();
        assert_eq!((freed.workload, freed.kind), (key, EventKind::SlotFree));
        assert_eq!(table.taken(), taken(0));
    }
}
