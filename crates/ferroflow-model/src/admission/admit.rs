//! The decision itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::candidate::Place;
use super::check::Room;
use super::decision::{Admitted, ClosedPool, Decision, Refused, Stopped};
use super::in_use::InUse;
use super::limits::Limits;
use super::line::PoolLine;
use super::patience::{Patience, patience_after};
use super::queue::PoolQueue;
use super::refusal::Refusal;
use super::turns::{ByClass, Class, first};
use super::waiting::Waiting;

/// The circumstances of a call.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The time.
    pub now: Timestamp,
    /// After how long a wait the open slots of a pool are kept for who needs more of them, and for how long at
    /// first. If it is not above zero, they never are.
    pub patience: SignedDuration,
    /// How many may be admitted at most.
    pub budget: usize,
}

/// Decides who may run. No limit is exceeded, and who fits within all of them is admitted, unless the budget
/// is used up or the slots are kept for another.
///
/// The higher priority comes first. At equal priority, backfills and all other runs take turns,
/// in each pool and among the pools. Within a class it is who was due first, then who has waited longest, and
/// then the names.
///
/// A candidate that needs more slots than are open is passed over, so that slots are not left unused. Once it
/// has waited for [`Tick::patience`] and nothing but slots is in its way, the open slots of the pool are kept
/// for it as long again: until it has them, no candidate gets one whose priority is not higher. Then others may pass
/// for the length of the patience, and the slots are kept anew, for twice as long as before, and so on. So a
/// pool does not stand still for ever, and in the end slots are kept for longer than any task runs. If several
/// wait so, the one of the highest priority that waits longest decides for the pool: others could fill its
/// pauses, or go before it again and again.
pub fn admit(waiting: &Waiting, limits: &Limits, in_use: &InUse, tick: Tick) -> Decision {
    let room = Room { limits, in_use };
    let mut call = Call {
        waiting,
        room,
        tick,
        lines: Vec::new(),
        offers: ByClass::default(),
        turn: waiting.all_turns().all,
        decision: Decision::default(),
    };
    for (place, (pool, queue)) in waiting.pools().enumerate() {
        let mut line = PoolLine::new(pool, queue, waiting.all_turns().of_pool(pool));
        line.holder = call.holder(pool, queue);
        call.lines.push(line);
        call.offer(place);
    }
    while !call.is_stopped()
        && let Some((place, pool)) = call.next()
    {
        call.look_at(place, pool);
        call.offer(pool);
    }
    call.decision
}

struct Call<'a> {
    waiting: &'a Waiting,
    room: Room<'a>,
    tick: Tick,
    lines: Vec<PoolLine<'a>>,
    /// The next candidate of each pool that has one and is not closed, with the place of the pool's line.
    offers: ByClass<BTreeMap<Place, usize>>,
    turn: Class,
    decision: Decision,
}

impl Call<'_> {
    /// Who the open slots of a pool are kept for, if there are any: the first that needs several, has waited
    /// long enough and lacks nothing else, unless it makes a pause.
    fn holder(&self, pool: &Arc<str>, queue: &PoolQueue) -> Option<Place> {
        if queue.large.is_empty() || self.room.check_open(pool, &self.decision.taken).is_err() {
            return None;
        }
        let patience = |place: &Place| {
            patience_after(self.tick.now.duration_since(place.waiting_since), self.tick.patience)
        };
        let mut in_order = queue.large.iter().map(|(.., place)| place);
        let first = in_order.find(|place| {
            patience(place) != Patience::New
                && self.room.can_lack_only_slots(&place.lane, &self.decision.taken)
        })?;
        (patience(first) == Patience::Keep).then(|| first.clone())
    }

    /// Lets a pool name its next candidate, or closes it if no candidate can have a slot of it.
    fn offer(&mut self, pool: usize) {
        let line = &mut self.lines[pool];
        let reserved = self.decision.reserved.get(line.pool).cloned();
        let closed = reserved.map_or_else(|| self.room.check_open(line.pool, &self.decision.taken), Err);
        if let Err(refusal) = closed {
            if line.left > 0
                && let Some(Place { key: head, .. }) = line.next()
            {
                let (pool, waiting) = (line.pool.clone(), std::mem::take(&mut line.left));
                self.decision.closed_pools.push(ClosedPool { pool, head, waiting, refusal });
            }
            return;
        }
        // A candidate of another pool may have taken something else that it needs.
        let lacks_more =
            |place: &mut Place| !self.room.can_lack_only_slots(&place.lane, &self.decision.taken);
        line.holder.take_if(lacks_more);
        if let Some(place) = line.next() {
            self.offers.of(place.lane.class).insert(place, pool);
        }
    }

    /// Whether no more may be admitted.
    fn is_stopped(&mut self) -> bool {
        let Some(refusal) = self.no_more() else {
            return false;
        };
        let waiting = self.lines.iter().map(|line| line.left).sum();
        self.decision.stopped = (waiting > 0).then_some(Stopped { waiting, refusal });
        true
    }

    fn no_more(&self) -> Option<Refusal> {
        let admitted = self.decision.admitted.len();
        let executors = &self.room.limits.executors;
        let occupied = executors.occupied().saturating_add(i64::try_from(admitted).unwrap_or(i64::MAX));
        if occupied >= executors.parallelism {
            return Some(Refusal::ParallelismReached { occupied, limit: executors.parallelism });
        }
        let budget = self.tick.budget;
        (admitted >= budget).then_some(Refusal::BudgetUsedUp { budget })
    }

    /// The first of the pools' candidates.
    fn next(&mut self) -> Option<(Place, usize)> {
        let (other, backfill) = (self.offers.other.keys().next(), self.offers.backfill.keys().next());
        let class = first(other, backfill, self.turn)?;
        self.offers.of(class).pop_first()
    }

    /// Admits a candidate, or refuses its lane or its run.
    fn look_at(&mut self, place: Place, pool: usize) {
        match self.room.check(&place.lane, &self.decision.taken) {
            Ok(executor) => {
                self.decision.taken.count(&place.key, &place.lane, executor);
                self.turn = place.lane.class.next();
                self.lines[pool].admitted(&place, self.waiting.behind(&place));
                self.decision.admitted.push(Admitted { key: place.key, executor });
            }
            Err(refusal) => {
                self.reserve(&place, &refusal, pool);
                let line = &mut self.lines[pool];
                let (waiting, refusal) = match self.room.check_run(&place.lane, &self.decision.taken) {
                    Ok(()) => {
                        let waiting = self.waiting.lane_len(&place.lane) - place.admitted_before;
                        line.refused_lane(&place, waiting);
                        (waiting, refusal)
                    }
                    Err(of_run) => (line.refused_run(&place), of_run),
                };
                self.decision.refused.push(Refused { head: place.key, waiting, refusal });
            }
        }
    }

    /// Keeps the open slots of a pool for the one that has waited long enough for more of them.
    fn reserve(&mut self, place: &Place, refusal: &Refusal, pool: usize) {
        let holder = self.lines[pool].holder.take_if(|holder| holder == place);
        let (Some(Place { key: holder, .. }), Refusal::TooFewSlots { pool, wanted, open, .. }) =
            (holder, refusal)
        else {
            return;
        };
        if self.room.can_lack_only_slots(&place.lane, &self.decision.taken) {
            let kept = Refusal::SlotsReserved { pool: pool.clone(), open: *open, holder, wanted: *wanted };
            self.decision.reserved.insert(pool.clone(), kept);
        }
    }
}
