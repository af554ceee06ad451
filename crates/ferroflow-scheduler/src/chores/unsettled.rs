//! Orphans that this scheduler has claimed, and of which the database does not take yet what became of them.
//!
//! One task beside the loop tries them again, a few at a time, until it is done or refused for good: nobody else looks for
//! them, since their scheduler lives. Should it die meanwhile, they are orphans again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::task_instance::orphans::HandedOut;
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::Refusal;
use ferroflow_executor::{Adopted, Orphan};
use ferroflow_telemetry::metrics::scheduling;
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::executors::Executors;
use super::orphans::reset;
use crate::kept_events::is_locked;

/// So long after the database did not take them, they are tried again.
const PAUSE: Duration = Duration::from_secs(2);

/// So many at a time: each may wait for a lock, and has a connection that long.
const AT_A_TIME: usize = 3;

/// Why one waits.
const LOCKED: &str = "others have locked a row";

/// Orphans that are accounted for beside the loop.
#[derive(Clone, Default)]
pub struct Unsettled(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    is_worked_on: bool,
}

/// One that waits.
pub(super) struct Waiting {
    orphan: HandedOut,
    is_told: bool,
}

/// What accounting for an orphan takes.
#[derive(Clone)]
pub(super) struct Desk<E> {
    pub(super) db: Db,
    pub(super) job_id: i64,
    pub(super) executors: E,
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

impl Unsettled {
    /// Has these accounted for beside the loop.
    pub(super) fn take_up<E: Executors>(&self, desk: &Desk<E>, waiting: Vec<Waiting>) {
        if waiting.is_empty() {
            return;
        }
        let mut queue = self.lock();
        queue.waiting.extend(waiting);
        if !std::mem::replace(&mut queue.is_worked_on, true) {
            tokio::spawn(work(self.clone(), desk.clone()));
        }
    }

    /// All that wait. If there are none, nobody works on them any more.
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
    pub(super) fn untried(orphan: HandedOut) -> Self {
        Self { orphan, is_told: false }
    }

    /// One that was refused for now, which is told once.
    pub(super) fn refused(orphan: HandedOut, refusal: &Refusal) -> Self {
        Self::untried(orphan).told_of(refusal)
    }

    fn told_of(self, refusal: &Refusal) -> Self {
        let reason = if refusal.is_busy() { LOCKED } else { "the database does not take it" };
        self.told(reason, &chain(refusal))
    }

    fn told(mut self, reason: &str, error: &str) -> Self {
        if !std::mem::replace(&mut self.is_told, true) {
            let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &self.orphan.key;
            tracing::warn!(
                id = %self.orphan.id, dag_id, run_id, task_id, map_index, error,
                "what became of an orphaned task instance is stored later: {reason}"
            );
        }
        self
    }
}

/// Goes on until none waits.
async fn work<E: Executors>(unsettled: Unsettled, desk: Desk<E>) {
    loop {
        let mut round = unsettled.next_round();
        if round.is_empty() {
            return;
        }
        let (mut trying, mut again) = (JoinSet::new(), Vec::new());
        let mut tried = HashMap::new();
        loop {
            // Whoever comes meanwhile does not wait for the next round.
            round.append(&mut unsettled.lock().waiting);
            while trying.len() < AT_A_TIME
                && let Some(waiting) = round.pop_front()
            {
                let orphan = waiting.orphan.clone();
                tried.insert(trying.spawn(attempt(desk.clone(), waiting)).id(), orphan);
            }
            match trying.join_next_with_id().await {
                Some(Ok((task, attempted))) => {
                    tried.remove(&task);
                    again.extend(attempted);
                }
                Some(Err(error)) => {
                    if let Some(orphan) = tried.remove(&error.id()) {
                        refused(&orphan, &error);
                    }
                }
                None => break,
            }
        }
        if !again.is_empty() {
            unsettled.lock().waiting.extend(again);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Tries once. Answers the orphan if it is to be tried again.
async fn attempt<E: Executors>(desk: Desk<E>, waiting: Waiting) -> Option<Waiting> {
    // One that others still have locked keeps none waiting.
    if let Ok(true) = is_locked(&desk.db, waiting.orphan.id).await {
        return Some(waiting.told(LOCKED, "its own"));
    }
    match settle(&desk, &waiting.orphan, clock::now()).await {
        Ok(settled) => {
            let id = waiting.orphan.id;
            tracing::info!(%id, ?settled, "an orphaned task instance is accounted for");
            let [is_reset, is_told] = [Settled::Reset, Settled::Told].map(|one| usize::from(settled == one));
            scheduling::orphans(is_reset, is_told);
            None
        }
        Err(refusal) if refusal.may_pass() => Some(waiting.told_of(&refusal)),
        Err(refusal) => {
            refused(&waiting.orphan, &refusal);
            None
        }
    }
}

/// Tells that an orphan is not looked after. Its silence is noticed later, as that of any other.
pub(super) fn refused(orphan: &HandedOut, error: &dyn std::error::Error) {
    let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &orphan.key;
    tracing::error!(
        id = %orphan.id, dag_id, run_id, task_id, map_index, error = chain(error),
        "an orphaned task instance is not looked after; it ends when its heartbeat has been missing for long"
    );
}

/// Accounts for an orphan that is claimed: it tells what became of it, or begins anew.
pub(super) async fn settle<E: Executors>(
    desk: &Desk<E>,
    orphan: &HandedOut,
    now: Timestamp,
) -> Result<Settled, Refusal> {
    match desk.executors.adopt(&orphan_of(orphan)).await {
        Ok(Adopted::Settled) => Ok(Settled::Told),
        Ok(Adopted::NotBegun | Adopted::Elsewhere) => {
            let job_id = Some(desk.job_id);
            let reset = desk.db.transact(|tx| reset(tx, orphan, job_id, now).scope_boxed()).await;
            let is_reset = desk.db.unreadable().or_note(reset)? == Some(true);
            Ok(if is_reset { Settled::Reset } else { Settled::MovedOn })
        }
        // It was cleared, or put down before and nobody heard so: its try has gone into the history.
        Err(refusal) if refusal.status() == Some(404) => Ok(Settled::MovedOn),
        Err(refusal) => Err(refusal),
    }
}

/// What its executor has to know of one.
pub(super) fn orphan_of(running: &HandedOut) -> Orphan {
    Orphan {
        id: running.id,
        try_number: running.try_number,
        state: running.state,
        hostname: running.hostname.clone(),
        pid: running.pid,
        last_seen: running.last_seen,
    }
}
