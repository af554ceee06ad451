//! Orphans that this scheduler has claimed, and whose end the database refuses to store for now.
//!
//! One task beside the loop tries them again, a few at a time, until it is done or refused for good: no other scheduler
//! looks for them, since theirs lives. Should it die meanwhile, they are orphans again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::task_instance::orphans::HandedOut;
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::{Refusal, Service};
use ferroflow_telemetry::metrics::scheduling;
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::orphans::reset;
use crate::kept_events::is_locked;

/// So long after the database did not take them, they are tried again.
const PAUSE: Duration = Duration::from_secs(2);

/// So many at a time: each may wait for a lock, and has a connection that long.
const AT_A_TIME: usize = 3;

/// Why one waits.
const LOCKED: &str = "another transaction has locked a row";

/// Orphans that are accounted for beside the loop.
#[derive(Clone, Default)]
pub struct OrphanRetries(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    is_worked_on: bool,
}

/// One that waits.
pub(super) struct Waiting {
    claimed: Claimed,
    is_told: bool,
}

/// An orphan that this scheduler looks after, and of which nothing goes on.
#[derive(Clone)]
pub(super) struct Claimed {
    pub(super) orphan: HandedOut,
    /// Why it has ended; none if its executor does not have it.
    pub(super) ended: Option<String>,
}

/// What accounting for an orphan takes.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) db: Db,
    pub(super) service: Service,
    pub(super) job_id: i64,
}

/// What came of an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Its row tells what became of it.
    Told,
    /// It begins anew.
    Reset,
    /// It is another's by now.
    MovedOn,
}

impl OrphanRetries {
    /// Has these accounted for beside the loop.
    pub(super) fn take_up(&self, desk: &Desk, waiting: Vec<Waiting>) {
        if waiting.is_empty() {
            return;
        }
        let mut queue = self.lock();
        queue.waiting.extend(waiting);
        if !std::mem::replace(&mut queue.is_worked_on, true) {
            tokio::spawn(work(self.clone(), desk.clone()));
        }
    }

    /// All that wait. If there are none, the task beside the loop ends.
    fn next_round(&self) -> VecDeque<Waiting> {
        let mut queue = self.lock();
        queue.is_worked_on = !queue.waiting.is_empty();
        std::mem::take(&mut queue.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// One that was not tried yet.
    pub(super) fn untried(claimed: Claimed) -> Self {
        Self { claimed, is_told: false }
    }

    /// One that was refused for now, which is told once.
    pub(super) fn refused(claimed: Claimed, refusal: &Refusal) -> Self {
        Self::untried(claimed).told_of(refusal)
    }

    fn told_of(self, refusal: &Refusal) -> Self {
        let reason = if refusal.is_busy() { LOCKED } else { "the database does not take it" };
        self.told(reason, &chain(refusal))
    }

    fn told(mut self, reason: &str, error: &str) -> Self {
        if !std::mem::replace(&mut self.is_told, true) {
            let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &self.claimed.orphan.key;
            tracing::warn!(
                id = %self.claimed.orphan.id, dag_id, run_id, task_id, map_index, error,
                "orphaned task instance is settled later: {reason}"
            );
        }
        self
    }
}

/// Goes on until none waits.
async fn work(orphan_retries: OrphanRetries, desk: Desk) {
    loop {
        let mut round = orphan_retries.next_round();
        if round.is_empty() {
            return;
        }
        let (mut trying, mut again) = (JoinSet::new(), Vec::new());
        let mut tried = HashMap::new();
        loop {
            // One that comes meanwhile does not wait for the next round.
            round.append(&mut orphan_retries.lock().waiting);
            while trying.len() < AT_A_TIME
                && let Some(waiting) = round.pop_front()
            {
                let orphan = waiting.claimed.orphan.clone();
                tried.insert(trying.spawn(attempt(desk.clone(), waiting)).id(), orphan);
            }
            match trying.join_next_with_id().await {
                Some(Ok((task, attempted))) => {
                    tried.remove(&task);
                    again.extend(attempted);
                }
                Some(Err(error)) => {
                    if let Some(orphan) = tried.remove(&error.id()) {
                        refused(&orphan, &chain(&error));
                    }
                }
                None => break,
            }
        }
        if !again.is_empty() {
            orphan_retries.lock().waiting.extend(again);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Tries once. Answers the orphan if it is to be tried again.
async fn attempt(desk: Desk, waiting: Waiting) -> Option<Waiting> {
    // One that others still have locked keeps none waiting.
    if let Ok(true) = is_locked(&desk.db, waiting.claimed.orphan.id).await {
        return Some(waiting.told(LOCKED, "its own"));
    }
    match settle(&desk, &waiting.claimed, clock::now()).await {
        Ok(settled) => {
            let id = waiting.claimed.orphan.id;
            tracing::info!(%id, ?settled, "orphaned task instance settled");
            let [is_reset, is_told] = [Settled::Reset, Settled::Told].map(|one| usize::from(settled == one));
            scheduling::orphans(is_reset, is_told);
            None
        }
        Err(refusal) if refusal.may_pass() => Some(waiting.told_of(&refusal)),
        Err(refusal) => {
            refused(&waiting.claimed.orphan, &chain(&refusal));
            None
        }
    }
}

/// Tells that an orphan is not looked after. Its silence is noticed later, as that of any other.
pub(super) fn refused(orphan: &HandedOut, error: &str) {
    let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &orphan.key;
    tracing::error!(
        id = %orphan.id, dag_id, run_id, task_id, map_index, error,
        "orphaned task instance could not be adopted; it fails when its heartbeat times out"
    );
}

/// Accounts for an orphan that is claimed: it tells what became of it, or begins anew.
pub(super) async fn settle(desk: &Desk, claimed: &Claimed, now: Timestamp) -> Result<Settled, Refusal> {
    let Claimed { orphan, ended } = claimed;
    let Some(reason) = ended else {
        let job_id = Some(desk.job_id);
        let reset = desk.db.transact(|tx| reset(tx, orphan, job_id, now).scope_boxed()).await;
        let is_reset = desk.db.unreadable().or_note(reset)? == Some(true);
        return Ok(if is_reset { Settled::Reset } else { Settled::MovedOn });
    };
    match desk.service.fail_unreported(orphan.id, orphan.try_number, reason).await {
        Ok(_) => Ok(Settled::Told),
        // It was cleared, or failed before without an answer: its try has gone into the history.
        Err(refusal) if refusal.status() == Some(404) => Ok(Settled::MovedOn),
        Err(refusal) => Err(refusal),
    }
}
