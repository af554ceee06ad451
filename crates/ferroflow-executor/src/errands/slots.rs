//! Who has the slots of an executor that errands share with its tasks.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_supervisor::Running;
use tokio::sync::Notify;
use uuid::Uuid;

/// The slots of one executor, as errands see them.
pub(super) struct Slots {
    /// The task instances that it runs.
    running: Arc<Running>,
    all: usize,
    state: Mutex<State>,
    /// One has ended: for those that wait for a slot.
    has_room: Notify,
    /// The same, for the scheduler.
    has_ended: Notify,
}

#[derive(Default)]
struct State {
    in_hand: HashSet<Uuid>,
    /// How many have a slot.
    begun: usize,
    /// How many of these are over, and keep it for a process that cannot be killed.
    given_up: usize,
}

impl Slots {
    pub(super) fn new(running: Arc<Running>, all: usize) -> Self {
        let state = Mutex::default();
        Self { running, all, state, has_room: Notify::new(), has_ended: Notify::new() }
    }

    /// An errand is in hand from now on, until its [`stay`](Self::stay) ends.
    pub(super) fn take_up(&self, id: Uuid) {
        self.lock().in_hand.insert(id);
    }

    /// Ends an errand's being in hand when it is dropped.
    pub(super) fn stay(&self, id: Uuid) -> Stay<'_> {
        Stay { slots: self, id }
    }

    /// Waits for a slot.
    pub(super) async fn slot(&self) -> Slot<'_> {
        loop {
            let mut freed = std::pin::pin!(self.has_room.notified());
            freed.as_mut().enable();
            {
                let mut state = self.lock();
                if self.running.slots() + state.begun < self.all {
                    state.begun += 1;
                    return Slot { slots: self };
                }
            }
            freed.await;
        }
    }

    /// The slot of an errand that is over is not free as long as this is there.
    pub(super) fn give_up(&self) -> GivenUp<'_> {
        self.lock().given_up += 1;
        GivenUp { slots: self }
    }

    /// Whether this task runs beside them, and is told of.
    pub(super) fn is_task_alive(&self, id: Uuid, limit: Duration) -> bool {
        self.running.lives(id, limit)
    }

    /// How many errands there are, with those that wait for a slot.
    pub(super) fn in_hand(&self) -> usize {
        self.lock().in_hand.len()
    }

    pub(super) fn has(&self, id: Uuid) -> bool {
        self.lock().in_hand.contains(&id)
    }

    /// How many slots errands have, or will have before any task does.
    pub(super) fn taken(&self) -> usize {
        let state = self.lock();
        state.in_hand.len() + state.given_up
    }

    /// How many more errands may be taken up: as many as there are slots, whatever tasks have of them now.
    pub(super) fn room(&self) -> usize {
        self.all.saturating_sub(self.taken())
    }

    pub(super) async fn ended(&self) {
        self.has_ended.notified().await;
    }

    pub(super) fn one_is_free(&self) {
        self.has_room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An errand in hand: it is none any more when this is dropped, however it ended.
pub(super) struct Stay<'a> {
    slots: &'a Slots,
    id: Uuid,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        self.slots.lock().in_hand.remove(&self.id);
        self.slots.has_ended.notify_one();
    }
}

/// The slot of an errand.
pub(super) struct Slot<'a> {
    slots: &'a Slots,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.lock().begun -= 1;
        self.slots.one_is_free();
    }
}

/// An errand that is over, and of which a process is left.
pub(super) struct GivenUp<'a> {
    slots: &'a Slots,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.slots.lock().given_up -= 1;
        self.slots.has_ended.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_cannot_be_killed_keeps_the_slot_of_its_errand() {
        let slots = Slots::new(Arc::default(), 2);
        let id = Uuid::from_u128(1);
        slots.take_up(id);
        let (stay, slot) = (slots.stay(id), slots.slot().await);
        assert_eq!((slots.in_hand(), slots.taken(), slots.room()), (1, 1, 1));
        let given_up = slots.give_up();
        drop(stay);
        slots.ended().await;
        assert_eq!((slots.in_hand(), slots.has(id)), (0, false), "nobody who ends waits for it");
        assert_eq!((slots.taken(), slots.room()), (1, 1), "neither a task nor another errand has its slot");
        drop(given_up);
        drop(slot);
        slots.ended().await;
        assert_eq!((slots.taken(), slots.room()), (0, 2));
    }
}
