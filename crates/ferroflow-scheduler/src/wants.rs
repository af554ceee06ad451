//! What a cycle is asked to do besides what follows from events, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::start_runs::Waiting;

/// With ten thousand runs there are three seconds between two looks, and no more than ten however many there are.
const PAUSE_FOR_EACH_RUN: Duration = Duration::from_micros(200);
const LONGEST_PAUSE_FOR_RUNS: Duration = Duration::from_secs(9);

/// What is asked for besides what follows from events.
#[derive(Clone, Debug)]
pub(crate) struct Wants {
    /// Whether runs may be due.
    pub(crate) create: bool,
    /// Of which DAGs runs may start.
    pub(crate) start: Waiting,
    /// Those in which somebody has asked for a run, or one has ended: they do not wait for the others.
    pub(crate) start_soon: BTreeSet<String>,
    /// When the next run is due.
    pub(crate) create_at: Option<Timestamp>,
    /// When to look around.
    pub(crate) look_at: Timestamp,
}

impl Wants {
    /// Everything, at once.
    pub(crate) fn at_first() -> Self {
        let (start, start_soon) = (Waiting::All, BTreeSet::new());
        Self { create: true, start, start_soon, create_at: None, look_at: Timestamp::MIN }
    }

    /// Whether something is to be done at once.
    pub(crate) fn is_any(&self) -> bool {
        self.create || !self.start.is_none() || !self.start_soon.is_empty()
    }

    /// When something is asked for although nothing happens.
    pub(crate) fn next(&self) -> Timestamp {
        self.create_at.map_or(self.look_at, |at| at.min(self.look_at))
    }
}

/// By how much longer a look waits because of how many runs are looked after: it costs more then, and most of what happens
/// in them is told.
pub(crate) fn pause_for(runs: usize) -> Duration {
    PAUSE_FOR_EACH_RUN.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX)).min(LONGEST_PAUSE_FOR_RUNS)
}
