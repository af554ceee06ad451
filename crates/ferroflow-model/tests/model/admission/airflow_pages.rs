//! How Airflow 3.3.2 chooses: a page of candidates in its order, then the limits. Only what the scenarios
//! need: one executor with room, no teams, nothing paused.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferroflow_model::admission::{Candidate, InstanceKey};
use jiff::Timestamp;

use crate::admission::world::World;

/// Where a database puts runs without a logical date.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nulls {
    /// MySQL and SQLite.
    First,
    /// PostgreSQL.
    Last,
}

/// A DAG and a run, or a DAG and a task.
type Pair = (Arc<str>, Arc<str>);

/// A DAG, a run and a task.
type Triple = (Arc<str>, Arc<str>, Arc<str>);

/// What is left out of the next page of the same call.
#[derive(Default, PartialEq, Eq, Clone)]
struct Starved {
    pools: BTreeSet<Arc<str>>,
    dags: BTreeSet<Arc<str>>,
    tasks: BTreeSet<Pair>,
    tasks_of_runs: BTreeSet<Triple>,
}

/// What is taken, as far as a call knows.
struct Counts<'a> {
    open: BTreeMap<&'a str, i64>,
    runs: BTreeMap<Pair, i32>,
    tasks: BTreeMap<Pair, i32>,
    tasks_of_runs: BTreeMap<Triple, i32>,
}

/// Whom one call queues.
pub(crate) fn queue_page(world: &World, most: usize, nulls: Nulls) -> Vec<InstanceKey> {
    let mut counts = Counts::of(world);
    let free: i64 = counts.open.values().map(|open| (*open).max(0)).sum();
    let most = most.min(usize::try_from(free).unwrap());
    let full = counts.open.iter().filter(|(_, open)| **open <= 0).map(|(pool, _)| Arc::from(*pool));
    let mut starved = Starved { pools: full.collect(), ..Starved::default() };
    let at_work = Counts::of(world).runs;
    loop {
        let before = starved.clone();
        let page = page(world, &at_work, &starved, most, nulls);
        let queued: Vec<InstanceKey> = page
            .iter()
            .filter(|one| counts.take(world, one, &mut starved))
            .map(|one| one.key.clone())
            .collect();
        if !queued.is_empty() || page.len() < most || starved == before {
            return queued;
        }
    }
}

/// The candidates that a query shows: of each run no more than its DAG may have at work, whatever is so
/// already.
fn page<'a>(
    world: &'a World,
    at_work: &BTreeMap<Pair, i32>,
    starved: &Starved,
    most: usize,
    nulls: Nulls,
) -> Vec<&'a Candidate> {
    let limit = |one: &Candidate| world.limits.dags[&one.key.dag_id].max_active_tasks;
    let mut shown: Vec<&Candidate> = world
        .candidates
        .iter()
        .filter(|one| at_work.get(&one.run()).copied().unwrap_or(0) < limit(one))
        .filter(|one| !starved.pools.contains(&one.pool) && !starved.dags.contains(&one.key.dag_id))
        .filter(|one| {
            !starved.tasks.contains(&one.task()) && !starved.tasks_of_runs.contains(&one.task_of_run())
        })
        .collect();
    shown.sort_by_key(|one| (Reverse(one.priority_weight), nulls.rank(one), one.key.map_index));
    let mut of_run: BTreeMap<Pair, i32> = BTreeMap::new();
    shown.retain(|one| {
        let number = of_run.entry(one.run()).or_default();
        *number += 1;
        *number <= limit(one)
    });
    shown.truncate(most);
    shown
}

impl Nulls {
    fn rank(self, candidate: &Candidate) -> (bool, Option<Timestamp>) {
        let date = candidate.logical_date();
        match self {
            Self::First => (date.is_some(), date),
            Self::Last => (date.is_none(), date),
        }
    }
}

impl<'a> Counts<'a> {
    fn of(world: &'a World) -> Self {
        let mut counts = Self {
            open: world.limits.pools.iter().map(|(name, pool)| (&**name, pool.slots.into())).collect(),
            runs: BTreeMap::new(),
            tasks: BTreeMap::new(),
            tasks_of_runs: BTreeMap::new(),
        };
        world.holders.iter().for_each(|(holder, _)| counts.count(holder));
        counts
    }

    fn count(&mut self, one: &Candidate) {
        *self.open.get_mut(&*one.pool).unwrap() -= i64::from(one.pool_slots);
        *self.runs.entry(one.run()).or_default() += 1;
        *self.tasks.entry(one.task()).or_default() += 1;
        *self.tasks_of_runs.entry(one.task_of_run()).or_default() += 1;
    }

    /// Applies the limits to one of the page.
    fn take(&mut self, world: &World, one: &Candidate, starved: &mut Starved) -> bool {
        let open = self.open[&*one.pool];
        let reached = |count: Option<&i32>, limit: Option<i32>| {
            limit.is_some_and(|limit| count.copied().unwrap_or(0) >= limit)
        };
        let max_active_tasks = world.limits.dags[&one.key.dag_id].max_active_tasks;
        if open <= 0 {
            starved.pools.insert(Arc::clone(&one.pool));
        } else if i64::from(one.pool_slots) > open {
            starved.tasks.insert(one.task());
        } else if reached(self.runs.get(&one.run()), Some(max_active_tasks)) {
            starved.dags.insert(Arc::clone(&one.key.dag_id));
        } else if reached(self.tasks.get(&one.task()), one.max_active_tis_per_dag) {
            starved.tasks.insert(one.task());
        } else if reached(self.tasks_of_runs.get(&one.task_of_run()), one.max_active_tis_per_dagrun) {
            starved.tasks_of_runs.insert(one.task_of_run());
        } else {
            self.count(one);
            return true;
        }
        false
    }
}

trait Ids {
    fn run(&self) -> Pair;
    fn task(&self) -> Pair;
    fn task_of_run(&self) -> Triple;
    fn logical_date(&self) -> Option<Timestamp>;
}

impl Ids for Candidate {
    fn run(&self) -> Pair {
        (Arc::clone(&self.key.dag_id), Arc::clone(&self.key.run_id))
    }

    fn task(&self) -> Pair {
        (Arc::clone(&self.key.dag_id), Arc::clone(&self.key.task_id))
    }

    fn task_of_run(&self) -> Triple {
        (Arc::clone(&self.key.dag_id), Arc::clone(&self.key.run_id), Arc::clone(&self.key.task_id))
    }

    /// Runs that assets triggered have none; Airflow names them so.
    fn logical_date(&self) -> Option<Timestamp> {
        (!self.key.run_id.starts_with("asset_triggered__")).then_some(self.run_after)
    }
}
