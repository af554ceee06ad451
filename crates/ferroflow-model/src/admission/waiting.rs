//! The candidates, kept between calls.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use foldhash::HashMap;
use jiff::Timestamp;

use super::candidate::{Candidate, InstanceKey, Lane, Place};
use super::check::{Room, Taken};
use super::decision::Admitted;
use super::in_use::InUse;
use super::limits::Limits;
use super::queue::{Members, PoolQueue};
use super::turns::Turns;

/// The task instances that wait to be admitted. The order in which they are put in means nothing.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    instances: HashMap<InstanceKey, (Arc<Lane>, Timestamp)>,
    lanes: HashMap<Arc<Lane>, Members>,
    pools: BTreeMap<Arc<str>, PoolQueue>,
    turns: Turns,
}

impl Waiting {
    /// Puts a candidate in, instead of what was known of the same task instance.
    pub fn insert(&mut self, candidate: Candidate) {
        let former = self.forget(&candidate.key);
        let (key, since) = (candidate.key.clone(), candidate.waiting_since);
        let lane = self.shared(Lane::from(candidate));
        self.change(&lane, |members| members.insert((since, key.map_index)));
        self.instances.insert(key, (lane, since));
        // Only now: a pool whose only candidate is put in anew keeps its turn.
        if let Some(former) = former {
            self.drop_empty(&former.pool);
        }
    }

    /// Takes a task instance out that waits no longer, for whatever reason; whether it was in.
    pub fn remove(&mut self, key: &InstanceKey) -> bool {
        let former = self.forget(key);
        if let Some(lane) = &former {
            self.drop_empty(&lane.pool);
        }
        former.is_some()
    }

    /// Takes those out whose admission is committed, and gives the turn to the other class, in all and in
    /// each pool.
    pub fn take_out_admitted(&mut self, admitted: &[Admitted]) {
        for Admitted { key, .. } in admitted {
            let Some((lane, _)) = self.instances.get(key) else {
                continue;
            };
            self.turns.go_on(&lane.pool, lane.class);
            self.remove(key);
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Whether any waits for a slot of this pool.
    pub fn waits_for(&self, pool: &str) -> bool {
        self.pools.contains_key(pool)
    }

    /// The DAGs of those that wait for a pool of which anybody can have a slot: what else is in use matters for them
    /// alone. `None` if they wait in more than so many runs.
    pub fn dags_of_open_pools(&self, limits: &Limits, in_use: &InUse, most: usize) -> Option<Vec<Arc<str>>> {
        let (room, taken) = (Room { limits, in_use }, Taken::default());
        let open = self.pools.iter().filter(|(pool, _)| room.check_open(pool, &taken).is_ok());
        let mut runs = 0;
        let mut dags = BTreeSet::new();
        for (_, queue) in open {
            runs += queue.runs_waiting();
            if runs > most {
                return None;
            }
            dags.extend(queue.dags().cloned());
        }
        Some(dags.into_iter().collect())
    }

    /// The same candidates, with turns that go on from those of another.
    #[must_use]
    pub fn with_turns(self, turns: Turns) -> Self {
        Self { turns, ..self }
    }

    /// Whose turn it is, for the one that is built next. Where none waits, none has a turn.
    pub fn turns(&self) -> Turns {
        let mut turns = self.turns.clone();
        turns.pools.retain(|pool, _| self.pools.contains_key(pool));
        turns
    }

    /// Whose turn it is, with pools that no candidate waits for.
    pub(super) fn all_turns(&self) -> &Turns {
        &self.turns
    }

    /// The pools that are waited for, by name.
    pub(super) fn pools(&self) -> impl Iterator<Item = (&Arc<str>, &PoolQueue)> {
        self.pools.iter()
    }

    /// The lane of a task instance that waits.
    pub(super) fn lane(&self, key: &InstanceKey) -> Option<&Lane> {
        self.instances.get(key).map(|(lane, _)| &**lane)
    }

    /// How many there are in a lane.
    pub(super) fn lane_len(&self, lane: &Lane) -> usize {
        self.lanes.get(lane).map_or(0, BTreeSet::len)
    }

    /// The candidate behind one of the same lane that was admitted.
    pub(super) fn behind(&self, place: &Place) -> Option<Place> {
        let member = (place.waiting_since, place.key.map_index);
        let mut rest = self.lanes.get(&place.lane)?.range((Bound::Excluded(member), Bound::Unbounded));
        let (since, map_index) = rest.next()?;
        let next = Place::new(&place.lane, *since, *map_index);
        Some(Place { admitted_before: place.admitted_before + 1, ..next })
    }

    /// The lane that is there already, or this one.
    fn shared(&self, lane: Lane) -> Arc<Lane> {
        self.lanes.get_key_value(&lane).map_or_else(|| Arc::new(lane), |(lane, _)| Arc::clone(lane))
    }

    /// Takes a task instance out of its lane, and leaves the pool's queue, even if it is empty now.
    fn forget(&mut self, key: &InstanceKey) -> Option<Arc<Lane>> {
        let (lane, since) = self.instances.remove(key)?;
        self.change(&lane, |members| members.remove(&(since, key.map_index)));
        Some(lane)
    }

    fn drop_empty(&mut self, pool: &str) {
        if self.pools.get(pool).is_some_and(|queue| queue.waiting == 0) {
            self.pools.remove(pool);
            self.turns.pools.remove(pool);
        }
    }

    /// Changes who is in a lane, and keeps the pool's queue in order.
    fn change(&mut self, lane: &Arc<Lane>, change: impl FnOnce(&mut Members) -> bool) {
        let members = self.lanes.entry(Arc::clone(lane)).or_default();
        self.pools.entry(Arc::clone(&lane.pool)).or_default().change(lane, members, change);
        if members.is_empty() {
            self.lanes.remove(lane);
        }
    }
}
