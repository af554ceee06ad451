//! The candidates that wait for one pool.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use foldhash::HashMap;
use jiff::Timestamp;

use super::candidate::{Lane, Place, RunKey};
use super::turns::ByClass;

/// The candidates of a pool.
#[derive(Clone, Debug, Default)]
pub(super) struct PoolQueue {
    pub(super) classes: ByClass<ClassQueue>,
    /// How many there are.
    pub(super) waiting: usize,
    /// The first candidate of each lane that needs several slots, by priority and how long it waits. By when
    /// they were due, a catchup could always put a task before one that has waited for slots.
    pub(super) large: BTreeSet<(Reverse<i64>, Timestamp, Place)>,
}

/// The candidates of a pool and a class, by their runs: what is in the way of a run is in the way of all its
/// lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassQueue {
    /// The first candidate of each run.
    pub(super) firsts: BTreeSet<Place>,
    runs: HashMap<RunKey, RunQueue>,
}

#[derive(Clone, Debug, Default)]
struct RunQueue {
    /// The first candidate of each lane.
    heads: BTreeSet<Place>,
    waiting: usize,
}

/// The candidates of a lane: since when they wait, and their map index.
pub(super) type Members = BTreeSet<(Timestamp, i32)>;

impl PoolQueue {
    /// In how many runs they are, where those that are in both classes count twice.
    pub(super) fn runs_waiting(&self) -> usize {
        self.classes.other.runs.len() + self.classes.backfill.runs.len()
    }

    /// The DAGs of these runs, one for each run.
    pub(super) fn dags(&self) -> impl Iterator<Item = &Arc<str>> {
        let runs = self.classes.other.runs.keys().chain(self.classes.backfill.runs.keys());
        runs.map(|(dag_id, _)| dag_id)
    }

    /// Changes who is in a lane.
    pub(super) fn change(
        &mut self,
        lane: &Arc<Lane>,
        members: &mut Members,
        change: impl FnOnce(&mut Members) -> bool,
    ) {
        let (len_before, head_before) = (members.len(), head(lane, members));
        change(members);
        let (len, head) = (members.len(), head(lane, members));
        self.waiting = self.waiting + len - len_before;

        if lane.pool_slots > 1 && head != head_before {
            let large = |head: &Place| (head.priority, head.waiting_since, head.clone());
            if let Some(head) = &head_before {
                self.large.remove(&large(head));
            }
            self.large.extend(head.as_ref().map(large));
        }
        let ClassQueue { firsts, runs } = self.classes.of(lane.class);
        let run = runs.entry(lane.run()).or_default();
        run.waiting = run.waiting + len - len_before;
        if head == head_before {
            return;
        }
        if let Some(first) = run.heads.first() {
            firsts.remove(first);
        }
        if let Some(head) = &head_before {
            run.heads.remove(head);
        }
        run.heads.extend(head);
        match run.heads.first() {
            Some(first) => _ = firsts.insert(first.clone()),
            None => _ = runs.remove(&lane.run()),
        }
    }
}

fn head(lane: &Arc<Lane>, members: &Members) -> Option<Place> {
    members.first().map(|(since, map_index)| Place::new(lane, *since, *map_index))
}

impl ClassQueue {
    /// How many candidates a run has.
    pub(super) fn waiting(&self, run: &RunKey) -> usize {
        self.runs.get(run).map_or(0, |run| run.waiting)
    }

    /// The first candidate of the lane that follows one in its run.
    pub(super) fn next_lane(&self, head: &Place) -> Option<&Place> {
        let heads = &self.runs.get(&head.lane.run())?.heads;
        heads.range((Bound::Excluded(head), Bound::Unbounded)).next()
    }
}
