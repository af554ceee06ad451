//! User code is asked: how much of it at once, and who waits for whom.
//!
//! Questions go to several processes. Those of one class are asked one after the other, so that a class that hangs takes
//! one process; and all that has cost a process before shares one, so that many such classes take no more.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_telemetry::clock;
use serde_json::Value;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, Semaphore, SemaphorePermit};

use crate::ForkServer;
use crate::blame::{Blame, class_name};
use crate::helper::{HelperError, Helpers, Seat};
use crate::quarantine::LeftAlone;

/// How many questions of one kind are asked at once.
const PROCESSES: usize = 4;

/// Beyond so many turns, those that are not taken are forgotten.
const MAX_TURNS: usize = 1_000;

/// User code of one kind.
pub(crate) struct Asking {
    helpers: Helpers,
    limit: Duration,
    blame: Mutex<Blame>,
    /// Whose turn it is, by class.
    turns: Mutex<HashMap<String, Arc<Turn<()>>>>,
    /// Those who have cost a process take turns, too.
    suspects: Semaphore,
}

/// Who is asked.
pub(crate) struct Subject<'a> {
    /// What it goes by.
    pub(crate) who: &'a str,
    /// The custom classes that have a say: their import paths.
    pub(crate) classes: BTreeSet<String>,
    /// Whether a caller without an answer asks again: others of the class, who may be good, are only late then if one has the
    /// class left alone.
    pub(crate) is_asked_again: bool,
}

/// Why there is no answer.
pub(crate) enum NoAnswer {
    LeftAlone(LeftAlone),
    Failed(HelperError),
}

impl Asking {
    /// Each question may take up to `limit`.
    pub(crate) fn new(server: ForkServer, purpose: &str, limit: Duration) -> Self {
        Self {
            helpers: Helpers::new(server, purpose, PROCESSES),
            limit,
            blame: Mutex::default(),
            turns: Mutex::default(),
            suspects: Semaphore::new(1),
        }
    }

    /// If so many in a row cost a process, everybody is left alone: what all have in common is bad.
    pub(crate) fn suspecting_everybody(self, after: u32) -> Self {
        self.blame().suspect_everybody(after);
        self
    }

    /// From now on, user code that costs a process has all of its class left alone for a while, where it is asked again.
    pub(crate) fn blame_classes(&self) {
        self.blame().blame_classes();
    }

    /// Asks something, unless the user code that is asked cost a process a short while ago.
    pub(crate) async fn call(
        &self,
        subject: &Subject<'_>,
        method: &str,
        params: Value,
    ) -> Result<Value, NoAnswer> {
        let _turns = self.turns(subject).await;
        self.admit(subject)?;
        let (_turn, seat) = self.seat(subject).await;
        // Those who had the seats before may have shown that it is in vain.
        self.admit(subject)?;
        let answer = seat.call(method, params, self.limit).await;
        match &answer {
            Ok(_) => self.blame().forgive(subject, method),
            Err(error) if error.cost_a_process() => self.blame().note(subject, method, error, clock::now()),
            Err(_) => {}
        }
        answer.map_err(NoAnswer::Failed)
    }

    /// The same, of what no user code is to blame for.
    pub(crate) async fn call_plainly(&self, method: &str, params: Value) -> Result<Value, HelperError> {
        self.helpers.seat().await.call(method, params, self.limit).await
    }

    /// Loads plugins anew, and forgets what the old ones did.
    pub(crate) async fn restart(&self) {
        self.helpers.restart().await;
        self.blame().forgive_all();
    }

    /// Waits until no other caller asks the same classes. They are in order, so that callers never wait for each other.
    async fn turns(&self, subject: &Subject<'_>) -> Vec<OwnedMutexGuard<()>> {
        let mut turns = Vec::new();
        for turn in self.turns_of(subject) {
            turns.push(turn.lock_owned().await);
        }
        turns
    }

    fn turns_of(&self, subject: &Subject<'_>) -> Vec<Arc<Turn<()>>> {
        let mut turns = locked(&self.turns);
        if turns.len() >= MAX_TURNS {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        let mut turn_of = |name: String| Arc::clone(turns.entry(name).or_default());
        if subject.classes.is_empty() {
            return vec![turn_of(subject.who.to_owned())];
        }
        subject.classes.iter().map(|class| turn_of(class_name(class))).collect()
    }

    /// Waits for a process. Those who have cost one wait for each other before, so as not to take all.
    async fn seat(&self, subject: &Subject<'_>) -> (Option<SemaphorePermit<'_>>, Seat<'_>) {
        let mut turn = None;
        loop {
            if self.blame().is_suspect(subject) && turn.is_none() {
                turn = Some(self.suspects.acquire().await.expect("nobody closes it"));
            }
            let seat = self.helpers.seat().await;
            if turn.is_some() || !self.blame().is_suspect(subject) {
                return (turn, seat);
            }
        }
    }

    fn admit(&self, subject: &Subject<'_>) -> Result<(), NoAnswer> {
        self.blame().admit(subject, clock::now()).map_err(NoAnswer::LeftAlone)
    }

    fn blame(&self) -> MutexGuard<'_, Blame> {
        locked(&self.blame)
    }
}

/// What is guarded stays whole whatever happens: every change is one insertion or removal.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
