//! A small world to admit task instances in.

use std::sync::Arc;

use ferroflow_model::admission::{
    Candidate, DEFAULT_PATIENCE, DagLimits, Decision, Executor, ExecutorName, Executors, InUse, InstanceKey,
    Limits, Pool, Refusal, Tick, Verdict, Waiting, admit,
};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;

/// All that admission depends on, as plain lists.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) limits: Limits,
    /// Who holds something, and in which state.
    pub(crate) holders: Vec<(Candidate, TaskState)>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) tick: Tick,
}

/// A time, by seconds.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// A pool of no team that does not count who is deferred.
pub(crate) fn pool(slots: i32) -> Pool {
    Pool { slots, include_deferred: false, team: None }
}

/// A DAG that hardly limits anything.
pub(crate) fn dag() -> DagLimits {
    DagLimits { max_active_tasks: 1_000_000, is_paused: false, team: None }
}

pub(crate) fn executor(alias: &str, slots: i64) -> Executor {
    let module_path = format!("site.executors.{alias}Executor").into();
    let name = ExecutorName { alias: Some(alias.into()), module_path, team: None };
    Executor { name: Arc::new(name), slots, occupied: 0 }
}

/// A candidate by `dag/run/task` and a map index, which takes one slot of the pool `main`.
pub(crate) fn mapped(path: &str, map_index: i32) -> Candidate {
    let mut ids = path.split('/').map(Arc::from);
    Candidate {
        key: InstanceKey {
            dag_id: ids.next().unwrap(),
            run_id: ids.next().unwrap(),
            task_id: ids.next().unwrap(),
            map_index,
        },
        priority_weight: 1,
        run_after: at(0),
        is_backfill: false,
        waiting_since: at(0),
        pool: "main".into(),
        pool_slots: 1,
        executor: None,
        max_active_tis_per_dag: None,
        max_active_tis_per_dagrun: None,
    }
}

pub(crate) fn candidate(path: &str) -> Candidate {
    mapped(path, -1)
}

pub(crate) fn slots(count: i32, candidate: Candidate) -> Candidate {
    Candidate { pool_slots: count, ..candidate }
}

pub(crate) fn priority(weight: i64, candidate: Candidate) -> Candidate {
    Candidate { priority_weight: weight, ..candidate }
}

pub(crate) fn in_pool(pool: &str, candidate: Candidate) -> Candidate {
    Candidate { pool: pool.into(), ..candidate }
}

pub(crate) fn due(second: i64, candidate: Candidate) -> Candidate {
    Candidate { run_after: at(second), ..candidate }
}

pub(crate) fn backfill(candidate: Candidate) -> Candidate {
    Candidate { is_backfill: true, ..candidate }
}

impl World {
    /// Pools of these sizes, an executor with room for all, and no budget. It is the first second.
    pub(crate) fn new(pools: &[(&str, i32)], candidates: Vec<Candidate>) -> Self {
        let mut world = Self {
            limits: Limits {
                pools: pools.iter().map(|(name, slots)| ((*name).into(), pool(*slots))).collect(),
                dags: foldhash::HashMap::default(),
                executors: Executors { list: vec![executor("Big", 1_000_000)], parallelism: 1_000_000 },
            },
            holders: Vec::new(),
            candidates,
            tick: Tick { now: at(0), patience: DEFAULT_PATIENCE, budget: usize::MAX },
        };
        for candidate in &world.candidates {
            world.limits.dags.insert(Arc::clone(&candidate.key.dag_id), dag());
        }
        world
    }

    pub(crate) fn holding(mut self, state: TaskState, holders: impl IntoIterator<Item = Candidate>) -> Self {
        self.holders.extend(holders.into_iter().map(|holder| (holder, state)));
        self
    }

    pub(crate) fn dag(&mut self, dag_id: &str) -> &mut DagLimits {
        self.limits.dags.get_mut(dag_id).unwrap()
    }

    pub(crate) fn pool(&mut self, name: &str) -> &mut Pool {
        self.limits.pools.get_mut(name).unwrap()
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let mut waiting = Waiting::default();
        self.candidates.iter().cloned().for_each(|candidate| waiting.insert(candidate));
        waiting
    }

    pub(crate) fn in_use(&self) -> InUse {
        let mut in_use = InUse::default();
        for (holder, state) in &self.holders {
            in_use.set(&holder.key, &holder.pool, holder.pool_slots, Some(*state));
        }
        in_use
    }

    pub(crate) fn decide(&self) -> Decision {
        admit(&self.waiting(), &self.limits, &self.in_use(), self.tick)
    }

    /// The names of those that are admitted: the task, with its map index if it is mapped.
    pub(crate) fn admitted(&self) -> Vec<String> {
        self.decide().admitted.iter().map(|admitted| name(&admitted.key)).collect()
    }

    /// Why a candidate is refused.
    pub(crate) fn refusal(&self, candidate: &Candidate) -> Refusal {
        let verdict =
            self.decide().explain(&self.waiting(), &self.limits, &self.in_use(), &candidate.key).unwrap();
        match verdict {
            Verdict::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    /// The candidate of a key.
    pub(crate) fn find(&self, key: &InstanceKey) -> &Candidate {
        self.candidates.iter().find(|candidate| candidate.key == *key).unwrap()
    }

    /// What an admission leads to: who was admitted waits no longer, and is queued.
    pub(crate) fn queue(&mut self, keys: &[InstanceKey]) {
        for key in keys {
            let place = self.candidates.iter().position(|candidate| candidate.key == *key).unwrap();
            let candidate = self.candidates.remove(place);
            self.holders.push((candidate, TaskState::Queued));
        }
    }
}

pub(crate) fn name(key: &InstanceKey) -> String {
    if key.map_index == -1 { key.task_id.to_string() } else { format!("{}{}", key.task_id, key.map_index) }
}
