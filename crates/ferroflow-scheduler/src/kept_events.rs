//! What executors told of rows that cannot be read: it is kept until somebody has mended them.
//!
//! Who dropped it would leave it to others to find out, much later, what became of a task, and to guess.

use std::collections::BTreeMap;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_executor::Executor;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::scheduling;
use jiff::{SignedDuration, Timestamp};

use crate::cycle::MOST_HELD;
use crate::executors::Heard;
use crate::scheduler::Scheduler;
use crate::{Error, chores};

/// So many are kept: a database in which more rows are bad has other worries.
const MOST: usize = 1_000;

/// So many are tried again in one harvest: what was told since must not wait for all of them.
const MOST_TRIED: usize = 50;

/// After so long one is tried again, and after twice as long every time.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

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
    heard: Heard,
    pause: SignedDuration,
    due: Timestamp,
}

impl KeptEvents {
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// When the next is to be tried again.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.kept.values().map(|kept| kept.due).min()
    }

    /// Keeps one for a while. Answers the oldest if that is one too many.
    fn keep(&mut self, heard: Heard, now: Timestamp) -> Option<Heard> {
        let (number, pause) = (self.next, FIRST_PAUSE);
        self.next += 1;
        self.kept.insert(number, Kept { number, heard, pause, due: later(now, pause) });
        if self.kept.len() <= MOST {
            return None;
        }
        self.kept.pop_first().map(|(_, oldest)| oldest.heard)
    }

    /// Takes the oldest that is to be tried again.
    fn take_due(&mut self, now: Timestamp) -> Option<Kept> {
        // One that is due much later was kept before the clock was set back.
        let is_due = |kept: &Kept| kept.due <= now || kept.due > later(now, LONGEST_PAUSE);
        let number = *self.kept.iter().find(|(_, kept)| is_due(kept))?.0;
        self.kept.remove(&number)
    }

    /// Keeps one that was tried in vain for longer.
    fn put_back(&mut self, kept: Kept, now: Timestamp) {
        let pause = (kept.pause * 2).min(LONGEST_PAUSE);
        self.kept.insert(kept.number, Kept { pause, due: later(now, pause), ..kept });
    }
}

impl<E: Executor, C: chores::Executors> Scheduler<E, C> {
    /// Keeps an event whose row cannot be read.
    pub(crate) fn keep(&mut self, heard: Heard, error: &Error, now: Timestamp) {
        if let Some(bad) = error.bad_row() {
            self.cx.db.unreadable().note(bad);
        }
        let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &heard.event.key;
        let try_number = heard.event.try_number;
        scheduling::set_aside(dag_id, "event");
        tracing::warn!(
            dag_id,
            run_id,
            task_id,
            map_index,
            try_number,
            "what an executor told is kept until a row is mended: {}",
            chain(error)
        );
        if let Some(oldest) = self.kept.keep(heard, now) {
            drop_event(&oldest, &"too many wait for rows that cannot be read");
        }
    }

    /// Brings what was kept together with the rows, if it is time.
    pub(crate) async fn harvest_kept(&mut self, now: Timestamp) -> Result<(), Error> {
        let mut held = 0;
        for _ in 0..self.kept.len().min(MOST_TRIED) {
            let Some(mut kept) = self.kept.take_due(now) else { break };
            self.cx.progress.gets_on();
            // It may have gone on here since.
            kept.heard.is_still_known = self.executors.has(kept.heard.event.id);
            match self.take_in(&kept.heard).await {
                Ok(()) => {}
                Err(error) if error.is_about_data() => drop_event(&kept.heard, &chain(&error)),
                Err(error) => {
                    self.kept.put_back(kept, now);
                    if error.is_busy() {
                        held += 1;
                        if held == MOST_HELD {
                            break;
                        }
                    } else if error.bad_row().is_none() {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What an executor told cannot be brought together with its row, and never will be: others do not wait for it.
pub(crate) fn drop_event(heard: &Heard, why: &dyn std::fmt::Display) {
    let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &heard.event.key;
    let try_number = heard.event.try_number;
    scheduling::set_aside(dag_id, "event");
    tracing::error!(
        dag_id,
        run_id,
        task_id,
        map_index,
        try_number,
        "what an executor told is dropped, since it cannot be taken in: {why}"
    );
}

fn later(now: Timestamp, pause: SignedDuration) -> Timestamp {
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use ferroflow_executor::{Event, Happening};
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn heard(number: u128) -> Heard {
        let key = TaskInstanceKey {
            dag_id: "d".to_owned(),
            run_id: "r".to_owned(),
            task_id: "t".to_owned(),
            map_index: -1,
        };
        let event = Event { id: Uuid::from_u128(number), key, try_number: 1, what: Happening::Ended };
        Heard { event, is_told: false, is_still_known: false }
    }

    fn at(seconds: i64) -> Timestamp {
        NOW + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn one_is_tried_again_after_longer_and_longer() {
        let mut kept = KeptEvents::default();
        kept.keep(heard(1), NOW);
        assert!(kept.take_due(NOW).is_none());
        let mut tried = Vec::new();
        for second in 0..100 {
            if let Some(one) = kept.take_due(at(second)) {
                tried.push(second);
                kept.put_back(one, at(second));
            }
        }
        assert_eq!(tried, [1, 3, 7, 15, 31, 61, 91]);
        assert_eq!(kept.next_due(), Some(at(121)));
        assert!(kept.take_due(NOW).is_some(), "the clock was set back");
        assert_eq!((kept.len(), kept.next_due()), (0, None));
    }

    #[test]
    fn of_too_many_the_oldest_goes() {
        let mut kept = KeptEvents::default();
        let first = kept.keep(heard(0), NOW);
        assert_eq!(first, None);
        let one = kept.take_due(at(1)).unwrap();
        kept.put_back(one, at(1));
        for number in 1..MOST as u128 {
            assert_eq!(kept.keep(heard(number), at(1)), None);
        }
        assert_eq!(kept.keep(heard(9_999), at(1)), Some(heard(0)), "it came first, though it was tried last");
        assert_eq!(kept.len(), MOST);
    }
}
