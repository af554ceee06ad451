//! Which steps a cycle does besides what follows from events, and how far they have come.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::create_runs::DueRound;
use crate::refused::RetryLater;
use crate::start_runs::Waiting;

/// The next rescan waits so long, and longer for each run that is tracked and each task instance that waits to be queued:
/// it costs more then, and most of what happens to them comes as an event. With ten thousand it waits for three seconds.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const PAUSE_FOR_EACH: Duration = Duration::from_micros(200);
const MAX_PAUSE: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub(crate) struct DueSteps {
    /// Whether runs may be due.
    pub(crate) create: bool,
    /// When the next run is due.
    pub(crate) create_at: Option<Timestamp>,
    /// How far the DAGs that are due have been gone through.
    pub(crate) round: DueRound,
    /// Of which DAGs queued runs may start.
    pub(crate) start: Waiting,
    /// Those in which a user has asked for a run, or one has ended: they do not wait for the others.
    pub(crate) start_soon: BTreeSet<String>,
    /// Queued runs whose start the database has refused.
    pub(crate) refused_starts: RetryLater<i64>,
    /// Whether this cycle leaves out what is due in many DAGs.
    pub(crate) crowd_waits: bool,
    pub(crate) rescan_at: Timestamp,
}

impl DueSteps {
    /// Everything, at once.
    pub(crate) fn all() -> Self {
        Self {
            create: true,
            create_at: None,
            round: DueRound::default(),
            start: Waiting::All,
            start_soon: BTreeSet::new(),
            refused_starts: RetryLater::default(),
            crowd_waits: false,
            rescan_at: Timestamp::MIN,
        }
    }

    /// Whether a step is due at once.
    pub(crate) fn is_any(&self) -> bool {
        self.create || !self.start.is_none() || !self.start_soon.is_empty()
    }

    /// When one is due although nothing happens.
    pub(crate) fn next(&self) -> Timestamp {
        self.create_at.map_or(self.rescan_at, |at| at.min(self.rescan_at))
    }

    pub(crate) fn is_run_due(&self, now: Timestamp) -> bool {
        self.create_at.is_some_and(|at| at <= now)
    }

    /// While many runs are due, every second cycle is without them if an event waits: to create and start some of them
    /// takes longer than all the rest of a cycle.
    pub(crate) fn take_turns(&mut self, have_runs_events: bool) {
        let does_an_event_wait = !self.start_soon.is_empty() || have_runs_events;
        self.crowd_waits = self.round.is_under_way() && does_an_event_wait && !self.crowd_waits;
    }

    /// Runs of these DAGs have ended: there is room for others.
    pub(crate) fn runs_ended(&mut self, dag_ids: impl IntoIterator<Item = String>) {
        let mut dag_ids = dag_ids.into_iter().peekable();
        self.create |= dag_ids.peek().is_some();
        self.start_soon.extend(dag_ids);
    }

    /// The rows were looked at: what is due follows from them. The next time is after a pause, and a longer one if more is
    /// tracked.
    pub(crate) fn rescanned(&mut self, pause: Duration, tracked: usize, now: Timestamp) {
        (self.create, self.start) = (true, Waiting::All);
        let pause = SignedDuration::try_from(pause.max(pause_for(tracked)));
        let pause = pause.unwrap_or(SignedDuration::from_secs(1));
        self.rescan_at = now.checked_add(pause).unwrap_or(Timestamp::MAX);
    }

    pub(crate) fn rescan_by(&mut self, at: Timestamp) {
        self.rescan_at = self.rescan_at.min(at);
    }

    /// The clock was set back: otherwise everything would wait until it is as late as it was.
    pub(crate) fn clock_was_set_back(&mut self) {
        self.round.begin_anew();
        *self = Self {
            round: std::mem::take(&mut self.round),
            refused_starts: std::mem::take(&mut self.refused_starts),
            crowd_waits: self.crowd_waits,
            ..Self::all()
        };
    }
}

fn pause_for(tracked: usize) -> Duration {
    let each = u32::try_from(tracked).unwrap_or(u32::MAX);
    MIN_PAUSE.saturating_add(PAUSE_FOR_EACH.saturating_mul(each)).min(MAX_PAUSE)
}
