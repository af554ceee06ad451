//! The rules of admission, candidate by candidate: what lanes, queues and cursors have to amount to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_model::admission::{Admitted, Candidate};

use crate::admission::brute_force::{Fit, fit, is_run_blocked};
use crate::admission::world::World;

/// Whose turn it is: `true` if the backfills'. Without an entry, the others begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turns {
    pub(crate) all: bool,
    pub(crate) pools: BTreeMap<Arc<str>, bool>,
}

pub(crate) fn rank(candidate: &Candidate) -> impl Ord + use<'_> {
    let key = &candidate.key;
    (
        Reverse(candidate.priority_weight),
        candidate.run_after,
        candidate.waiting_since,
        (&key.dag_id, &key.run_id, &key.task_id, key.map_index),
    )
}

/// Whom to admit, in order; the turns go on.
pub(crate) fn admitted(world: &World, turns: &mut Turns) -> Vec<Admitted> {
    let mut left: Vec<&Candidate> = world.candidates.iter().collect();
    let mut admitted: Vec<Admitted> = Vec::new();
    let mut reserved: BTreeSet<Arc<str>> = BTreeSet::new();
    // Until it is looked at, what a pool offers stays the same.
    let mut offers: BTreeMap<&Arc<str>, &Candidate> = BTreeMap::new();
    let occupied: i64 = world.limits.executors.list.iter().map(|one| one.occupied).sum();
    while admitted.len() < world.tick.budget
        && occupied + i64::try_from(admitted.len()).unwrap() < world.limits.executors.parallelism
    {
        let pools: BTreeSet<&Arc<str>> = left.iter().map(|one| &one.pool).collect();
        for pool in pools.into_iter().filter(|pool| !reserved.contains(*pool)) {
            let turn = turns.pools.get(pool).copied().unwrap_or_default();
            let next = first(left.iter().copied().filter(|one| one.pool == *pool), turn).unwrap();
            let goes_first = |holder: &&Candidate| {
                holder.priority_weight >= next.priority_weight
                    && left.contains(holder)
                    && fit(world, &admitted, holder) != Fit::Blocked
            };
            let next = holder(world, pool).filter(goes_first).unwrap_or(next);
            offers.entry(&next.pool).or_insert(next);
        }
        let Some(next) = first(offers.values().copied(), turns.all) else {
            break;
        };
        offers.remove(&next.pool);
        let found = fit(world, &admitted, next);
        let is_open = world.limits.pools.contains_key(&next.pool);
        let with_run = is_open && is_run_blocked(world, &admitted, next);
        // Who shares every limit with one that is refused is refused with it, and so is who shares its run, if
        // that is refused.
        let is_done = |one: &Candidate| match found {
            Fit::Fits(_) => one.key == next.key,
            Fit::LacksSlots | Fit::Blocked => in_lane_of(next, one) || with_run && in_run_of(next, one),
        };
        left.retain(|one| !is_done(one));
        match found {
            Fit::Fits(executor) => {
                admitted.push(Admitted { key: next.key.clone(), executor });
                turns.all = !next.is_backfill;
                turns.pools.insert(Arc::clone(&next.pool), !next.is_backfill);
            }
            Fit::LacksSlots if holder(world, &next.pool) == Some(next) => {
                reserved.insert(Arc::clone(&next.pool));
            }
            Fit::LacksSlots | Fit::Blocked => {}
        }
    }
    // Where nobody waits, nobody has a turn.
    turns.pools.retain(|pool, _| {
        let gone: BTreeSet<_> = admitted.iter().map(|one| &one.key).collect();
        world.candidates.iter().any(|one| one.pool == *pool && !gone.contains(&one.key))
    });
    admitted
}

/// Who the open slots of a pool are kept for: of those that need several, have waited as long as patience lasts
/// and lack nothing else, the one of the highest priority that waits longest, unless it makes a pause.
pub(crate) fn holder<'a>(world: &'a World, pool: &str) -> Option<&'a Candidate> {
    if world.limits.pools.get(pool)?.slots == -1 {
        return None;
    }
    let waited = |one: &Candidate| world.tick.now.duration_since(one.waiting_since);
    let first = world
        .candidates
        .iter()
        .filter(|one| &*one.pool == pool && one.pool_slots > 1 && waited(one) >= world.tick.patience)
        .filter(|one| fit(world, &[], one) != Fit::Blocked)
        .min_by_key(|one| (Reverse(one.priority_weight), one.waiting_since, rank(one)))?;
    keeps(waited(first).as_secs(), world.tick.patience.as_secs()).then_some(first)
}

/// Whether slots are kept after so many seconds: by turns others pass for as long as patience lasts and slots
/// are kept, each time for twice as long.
fn keeps(waited: i64, patience: i64) -> bool {
    let (mut begin, mut length) = (patience, patience);
    while waited >= begin + length {
        begin += length + patience;
        length *= 2;
    }
    waited >= begin
}

fn in_lane_of(one: &Candidate, other: &Candidate) -> bool {
    let mut moved = other.clone();
    moved.key.map_index = one.key.map_index;
    moved.waiting_since = one.waiting_since;
    moved == *one
}

fn in_run_of(one: &Candidate, other: &Candidate) -> bool {
    let run = |one: &Candidate| (one.key.dag_id.clone(), one.key.run_id.clone(), one.pool.clone());
    run(one) == run(other) && one.is_backfill == other.is_backfill
}

/// The first of all: by priority, then by turns, then by rank.
fn first<'a>(candidates: impl Iterator<Item = &'a Candidate>, backfills_turn: bool) -> Option<&'a Candidate> {
    candidates.min_by(|one, other| {
        let class = |one: &Candidate| (Reverse(one.priority_weight), one.is_backfill != backfills_turn);
        class(one).cmp(&class(other)).then_with(|| rank(one).cmp(&rank(other)))
    })
}
