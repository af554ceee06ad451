//! Repeating what the database cannot do right now.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use tokio_util::sync::CancellationToken;

use crate::api::ExecutionApi;
use crate::{Refusal, Service};

/// For how long a step of a scheduler, or whoever supervises a task or answers it, waits in the database until others let
/// go of a row. Whatever needs that row is tried again later, and has no connection until then.
pub const LOCK_PATIENCE: Duration = Duration::from_secs(1);

const FIRST_WAIT: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(2);

/// That it still waits is told again after so long.
const TOLD_AGAIN: Duration = Duration::from_mins(1);

/// So long what is known is tried to be stored once there is a hurry.
const LAST_ATTEMPTS: Duration = Duration::from_secs(10);

/// How long it is asked again.
#[derive(Debug)]
pub struct Patience<'a> {
    what: &'a str,
    since: Stopwatch,
    wait: Duration,
    told: Option<Stopwatch>,
    hurried: Option<Stopwatch>,
    /// Since when a row cannot be read.
    unreadable: Option<Stopwatch>,
    /// Whether others had locked a row the last time.
    has_met_lock: bool,
}

impl<'a> Patience<'a> {
    /// Patience for something that is asked for or told.
    pub fn new(what: &'a str) -> Self {
        let since = Stopwatch::start();
        Self {
            what,
            since,
            wait: FIRST_WAIT,
            told: None,
            hurried: None,
            unreadable: None,
            has_met_lock: false,
        }
    }

    /// What to ask now. After a row that others had locked its transactions wait for their turn, until there is a hurry.
    pub fn turn<'s, T: InTurn>(&self, asked: &'s T, hurry: &CancellationToken) -> Cow<'s, T> {
        match self.has_met_lock.then(|| asked.in_turn(hurry)).flatten() {
            Some(in_turn) => Cow::Owned(in_turn),
            None => Cow::Borrowed(asked),
        }
    }

    /// Whether to ask again, after a while, what was refused: for as long as `limit`, and only if the database may do it
    /// soon. While others have locked a row it is asked for as long as that takes: they come to an end, and a statement
    /// that waited for them would wait as long.
    pub async fn again(&mut self, refusal: &Refusal, limit: Duration) -> bool {
        if refusal.is_busy() {
            self.since = Stopwatch::start();
        }
        if !refusal.is_transient() || (!refusal.is_busy() && self.since.elapsed() >= limit) {
            return false;
        }
        self.meet(refusal);
        tokio::time::sleep(self.next_wait()).await;
        true
    }

    /// The same for what would be lost if it were given up: it is tried as long as the database may take it one day, and
    /// a little longer once there is a hurry.
    pub async fn again_until(&mut self, refusal: &Refusal, hurry: &CancellationToken) -> bool {
        refusal.may_pass() && self.wait_until(refusal, hurry).await
    }

    /// The same, and as long as a row cannot be read: somebody may mend it.
    pub(crate) async fn again_until_mended(&mut self, refusal: &Refusal, hurry: &CancellationToken) -> bool {
        match refusal.bad_row() {
            Some(_) => _ = self.unreadable.get_or_insert_with(Stopwatch::start),
            None => self.unreadable = None,
        }
        refusal.is_for_now() && self.wait_until(refusal, hurry).await
    }

    /// How long a row has not been readable.
    pub(crate) fn unreadable_for(&self) -> Duration {
        self.unreadable.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Waits a while. Answers whether there is still time.
    async fn wait_until(&mut self, refusal: &Refusal, hurry: &CancellationToken) -> bool {
        let is_hurried = hurry.is_cancelled();
        if is_hurried {
            self.hurried.get_or_insert_with(Stopwatch::start);
        }
        let is_late = self.hurried.is_some_and(|hurried| hurried.elapsed() >= LAST_ATTEMPTS);
        if is_late {
            return false;
        }
        self.meet(refusal);
        tokio::select! {
            () = tokio::time::sleep(self.next_wait()) => {}
            () = hurry.cancelled(), if !is_hurried => {}
        }
        true
    }

    fn next_wait(&mut self) -> Duration {
        let wait = self.wait;
        self.wait = (wait * 2).min(MAX_WAIT);
        wait
    }

    fn meet(&mut self, refusal: &Refusal) {
        self.has_met_lock = refusal.is_busy();
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_AGAIN) {
            self.told = Some(Stopwatch::start());
            if let Some(bad) = refusal.bad_row() {
                tracing::error!("{} waits until a row is mended: {bad}", self.what);
            } else if refusal.is_busy() {
                tracing::warn!("{} waits for a row that others have locked: {}", self.what, chain(refusal));
            } else {
                tracing::warn!("{} waits for the database: {}", self.what, chain(refusal));
            }
        }
    }
}

/// What can be asked again in turn.
pub trait InTurn: Clone {
    /// The same, waiting for a turn, if that makes a difference.
    fn in_turn(&self, hurry: &CancellationToken) -> Option<Self>;
}

impl InTurn for Service {
    fn in_turn(&self, hurry: &CancellationToken) -> Option<Self> {
        Some(Self { db: self.db.in_turn(hurry), ..self.clone() })
    }
}

impl InTurn for Arc<dyn ExecutionApi> {
    fn in_turn(&self, hurry: &CancellationToken) -> Option<Self> {
        (**self).in_turn(hurry)
    }
}
