//! Executors' events whose rows cannot be read, are locked by another transaction, or cannot be written since the database
//! refuses it: they are kept until an operator has mended the rows, or the lock is gone.
//!
//! To drop one would leave it to the heartbeat check to notice, much later, that the task has ended, and to guess how. To
//! retry all of them in every cycle would hold up all other events.

use std::collections::BTreeMap;

use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::scheduling;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::Error;
use crate::executors::TrackedEvent;
use crate::inbox::MAX_HELD;
use crate::scheduler::Scheduler;

/// So many are kept of rows that cannot be read: a database in which more are bad has other worries.
const MOST: usize = 1_000;

/// So many are tried again in one cycle: events that have come since must not wait for all of them.
const MAX_TRIED: usize = 50;

/// After so long one is tried again, and after twice as long every time.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
const MAX_PAUSE: SignedDuration = SignedDuration::from_secs(30);
const MAX_PAUSE_FOR_DATABASE: SignedDuration = SignedDuration::from_secs(5);

/// What an event waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// That a row can be read.
    Mending,
    /// That the database takes it: others have locked its row, or it was refused for a reason that may pass.
    Database,
}

/// Events that wait for their rows, by when they came.
#[derive(Debug, Default)]
pub(crate) struct KeptEvents {
    kept: BTreeMap<u64, Kept>,
    next: u64,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Kept {
    number: u64,
    tracked: TrackedEvent,
    waits_for: WaitsFor,
    pause: SignedDuration,
    due: Timestamp,
}

impl WaitsFor {
    /// What an event waits for that met an error which concerns no other.
    pub(crate) fn after(error: &Error) -> Self {
        if error.bad_row().is_some() { Self::Mending } else { Self::Database }
    }
}

impl KeptEvents {
    /// How many wait for this.
    pub(crate) fn waiting_for(&self, what: WaitsFor) -> usize {
        self.kept.values().filter(|kept| kept.waits_for == what).count()
    }

    /// When the next is to be tried again.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.kept.values().map(|kept| kept.due).min()
    }

    /// Keeps one for a while. Answers the oldest of those that wait for a row to be mended if that is one too many.
    fn keep(&mut self, tracked: TrackedEvent, waits_for: WaitsFor, now: Timestamp) -> Option<TrackedEvent> {
        let (number, pause) = (self.next, FIRST_PAUSE);
        self.next += 1;
        self.kept.insert(number, Kept { number, tracked, waits_for, pause, due: later(now, pause) });
        if self.waiting_for(WaitsFor::Mending) <= MOST {
            return None;
        }
        let mut unreadable = self.kept.values().filter(|kept| kept.waits_for == WaitsFor::Mending);
        let oldest = unreadable.next()?.number;
        self.kept.remove(&oldest).map(|oldest| oldest.tracked)
    }

    /// Takes the oldest that is to be tried again.
    fn take_due(&mut self, now: Timestamp) -> Option<Kept> {
        // One that is due much later was kept before the clock was set back.
        let is_due = |kept: &Kept| kept.due <= now || kept.due > later(now, MAX_PAUSE);
        let number = *self.kept.iter().find(|(_, kept)| is_due(kept))?.0;
        self.kept.remove(&number)
    }

    /// Keeps one that was tried in vain for longer.
    fn put_back(&mut self, kept: Kept, waits_for: WaitsFor, now: Timestamp) {
        let longest = match waits_for {
            WaitsFor::Mending => MAX_PAUSE,
            WaitsFor::Database => MAX_PAUSE_FOR_DATABASE,
        };
        let pause = (kept.pause * 2).min(longest);
        self.kept.insert(kept.number, Kept { waits_for, pause, due: later(now, pause), ..kept });
    }
}

impl Scheduler {
    /// Keeps an event that met an error which concerns no other.
    pub(crate) fn keep(&mut self, tracked: TrackedEvent, error: &Error, now: Timestamp) {
        let waits_for = WaitsFor::after(error);
        if let Some(bad) = error.bad_row() {
            self.cx.db.unreadable().note(bad);
        }
        let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &tracked.task.key;
        let try_number = tracked.task.try_number;
        let until = match waits_for {
            WaitsFor::Mending => "its row can be read",
            WaitsFor::Database => "the database accepts it",
        };
        scheduling::set_aside(dag_id, "event");
        tracing::warn!(
            dag_id,
            run_id,
            task_id,
            map_index,
            try_number,
            "executor event is kept until {until}: {}",
            chain(error)
        );
        if let Some(oldest) = self.inbox.kept_events.keep(tracked, waits_for, now) {
            drop_event(&oldest, &"too many wait for rows that cannot be read");
        }
    }

    /// Brings what was kept together with the rows, if it is time.
    pub(crate) async fn process_kept_events(&mut self, now: Timestamp) -> Result<(), Error> {
        let mut held = 0;
        for _ in 0..MAX_TRIED {
            let Some(mut kept) = self.inbox.kept_events.take_due(now) else { break };
            self.cx.progress.gets_on();
            // It may have gone on here since.
            kept.tracked.is_still_known = self.executors.has(kept.tracked.task.id);
            match self.take_in_kept(&kept).await {
                Ok(true) => {}
                Ok(false) => self.inbox.kept_events.put_back(kept, WaitsFor::Database, now),
                Err(error) if error.is_about_data() => drop_event(&kept.tracked, &chain(&error)),
                Err(error) if error.is_busy() => {
                    self.inbox.kept_events.put_back(kept, WaitsFor::Database, now);
                    held += 1;
                    if held == MAX_HELD {
                        break;
                    }
                }
                Err(error) if error.is_passing() => {
                    let waits_for = kept.waits_for;
                    self.inbox.kept_events.put_back(kept, waits_for, now);
                    return Err(error);
                }
                Err(error) => self.inbox.kept_events.put_back(kept, WaitsFor::after(&error), now),
            }
        }
        Ok(())
    }

    /// Brings one together with its row. False if others still have locked it: that costs no waiting.
    async fn take_in_kept(&mut self, kept: &Kept) -> Result<bool, Error> {
        if kept.waits_for == WaitsFor::Database && is_locked(&self.cx.db, kept.tracked.task.id).await? {
            return Ok(false);
        }
        self.take_in(&kept.tracked).await?;
        Ok(true)
    }
}

/// Whether others have locked the row of a task instance: that costs no waiting.
pub(crate) async fn is_locked(db: &Db, id: Uuid) -> Result<bool, Error> {
    let looked = db.transact(|tx| {
        async move {
            let is_free = task_instance::scheduling::lock_states(tx, &[id]).await?.contains_key(&id);
            Ok(!is_free && task_instance::find(tx, id).await?.is_some())
        }
        .scope_boxed()
    });
    Ok(looked.await?)
}

/// What an executor told cannot be brought together with its row, and never will be: others do not wait for it.
pub(crate) fn drop_event(tracked: &TrackedEvent, why: &dyn std::fmt::Display) {
    let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &tracked.task.key;
    let try_number = tracked.task.try_number;
    scheduling::set_aside(dag_id, "event");
    tracing::error!(dag_id, run_id, task_id, map_index, try_number, "executor event is dropped: {why}");
}

fn later(now: Timestamp, pause: SignedDuration) -> Timestamp {
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use ferroflow_executor::{EventKind, TaskTry};

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn tracked(number: u128) -> TrackedEvent {
        let key = TaskInstanceKey {
            dag_id: "d".to_owned(),
            run_id: "r".to_owned(),
            task_id: "t".to_owned(),
            map_index: -1,
        };
        let task = TaskTry { id: Uuid::from_u128(number), key, try_number: 1 };
        TrackedEvent { task, kind: EventKind::Ended, is_told: false, is_still_known: false }
    }

    fn at(seconds: i64) -> Timestamp {
        NOW + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn one_is_tried_again_after_longer_and_longer() {
        let mut kept = KeptEvents::default();
        kept.keep(tracked(1), WaitsFor::Mending, NOW);
        assert!(kept.take_due(NOW).is_none());
        let mut tried = Vec::new();
        for second in 0..100 {
            if let Some(one) = kept.take_due(at(second)) {
                tried.push(second);
                kept.put_back(one, WaitsFor::Mending, at(second));
            }
        }
        assert_eq!(tried, [1, 3, 7, 15, 31, 61, 91]);
        assert_eq!(kept.next_due(), Some(at(121)));
        let one = kept.take_due(NOW).expect("the clock was set back");
        assert_eq!(kept.next_due(), None);
        kept.put_back(one, WaitsFor::Database, NOW);
        assert_eq!(kept.next_due(), Some(at(5)), "it is tried more often");
        assert_eq!((kept.waiting_for(WaitsFor::Mending), kept.waiting_for(WaitsFor::Database)), (0, 1));
    }

    #[test]
    fn of_too_many_the_oldest_goes() {
        let mut kept = KeptEvents::default();
        let first = kept.keep(tracked(0), WaitsFor::Mending, NOW);
        assert_eq!(first, None);
        let one = kept.take_due(at(1)).unwrap();
        kept.put_back(one, WaitsFor::Mending, at(1));
        for number in 1..MOST as u128 {
            assert_eq!(kept.keep(tracked(number), WaitsFor::Mending, at(1)), None);
            assert_eq!(
                kept.keep(tracked(number), WaitsFor::Database, at(1)),
                None,
                "of these there are never too many"
            );
        }
        let oldest = kept.keep(tracked(9_999), WaitsFor::Mending, at(1));
        assert_eq!(oldest, Some(tracked(0)), "it came first, though it was tried last");
        assert_eq!(kept.waiting_for(WaitsFor::Mending), MOST);
    }
}
