//! What a cycle is asked to do besides what follows from events, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::start_runs::Waiting;

/// A look waits so long, and longer for each run that is looked after and each task instance that waits to be queued: it
/// costs more then, and most of what happens to them is told. With ten thousand it waits for three seconds.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const PAUSE_FOR_EACH: Duration = Duration::from_micros(200);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// What is asked for besides what follows from events.
#[derive(Clone, Debug)]
pub(crate) struct DueSteps {
    /// Whether runs may be due.
    pub(crate) create: bool,
    /// Of which DAGs runs may start.
    pub(crate) start: Waiting,
    /// Those in which a user has asked for a run, or one has ended: they do not wait for the others.
    pub(crate) start_soon: BTreeSet<String>,
    /// When the next run is due.
    pub(crate) create_at: Option<Timestamp>,
    /// When to look around.
    pub(crate) look_at: Timestamp,
}

impl DueSteps {
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

/// How long the next look waits at least.
pub(crate) fn pause_for(runs: usize, waiting: usize) -> Duration {
    let each = u32::try_from(runs.saturating_add(waiting)).unwrap_or(u32::MAX);
    SHORTEST_PAUSE.saturating_add(PAUSE_FOR_EACH.saturating_mul(each)).min(MAX_PAUSE)
}
