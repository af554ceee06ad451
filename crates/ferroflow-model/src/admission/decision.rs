//! The answer: who may run, and what is in the way of the others.

use std::sync::Arc;

use foldhash::HashMap;

use super::candidate::InstanceKey;
use super::check::{Room, Taken};
use super::in_use::InUse;
use super::limits::Limits;
use super::refusal::Refusal;
use super::waiting::Waiting;

/// What was decided about all that wait. Each is admitted, or among the refused, in a closed pool or in the
/// rest that was not looked at.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// Who may run, first things first.
    pub admitted: Vec<Admitted>,
    /// What was looked at and cannot run.
    pub refused: Vec<Refused>,
    /// The pools that have no slot for any candidate.
    pub closed_pools: Vec<ClosedPool>,
    /// Why not everybody was looked at, if so.
    pub stopped: Option<Stopped>,
    pub(super) taken: Taken,
    pub(super) reserved: HashMap<Arc<str>, Refusal>,
}

/// A task instance that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Which one.
    pub key: InstanceKey,
    /// The place of its executor in [`Executors::list`](super::Executors::list).
    pub executor: usize,
}

/// Task instances that share a pool and every other limit, and cannot run; or, if the whole run is refused, all
/// that is left of the run in that pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The first of them.
    pub head: InstanceKey,
    /// How many there are.
    pub waiting: usize,
    /// Why. Of a run that is refused, some may have a limit of their own in their way before that: see
    /// [`Decision::explain`].
    pub refusal: Refusal,
}

/// A pool that has no slot for any candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedPool {
    /// The pool.
    pub pool: Arc<str>,
    /// The first of those that wait for it.
    pub head: InstanceKey,
    /// How many wait for it and were not looked at.
    pub waiting: usize,
    /// Why.
    pub refusal: Refusal,
}

/// The end of a call before everybody was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// How many were not looked at.
    pub waiting: usize,
    /// Why.
    pub refusal: Refusal,
}

/// What became of one task instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Admitted(Admitted),
    /// It has to wait.
    Refused(Refusal),
    /// Nothing is in its way: it came after the decision.
    Free,
}

impl Decision {
    /// What became of a task instance, if it waits. The other arguments are those of the decision. The limit
    /// that is named is its own: not what closed its pool, if something else is in its way before that.
    pub fn explain(
        &self,
        waiting: &Waiting,
        limits: &Limits,
        in_use: &InUse,
        key: &InstanceKey,
    ) -> Option<Verdict> {
        let lane = waiting.lane(key)?;
        if let Some(admitted) = self.admitted.iter().find(|admitted| admitted.key == *key) {
            return Some(Verdict::Admitted(admitted.clone()));
        }
        if let Err(refusal) = (Room { limits, in_use }).check(lane, &self.taken) {
            return Some(Verdict::Refused(refusal));
        }
        let in_the_way =
            self.reserved.get(&lane.pool).or(self.stopped.as_ref().map(|stopped| &stopped.refusal));
        Some(in_the_way.map_or(Verdict::Free, |refusal| Verdict::Refused(refusal.clone())))
    }
}
