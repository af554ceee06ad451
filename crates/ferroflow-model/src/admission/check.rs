//! Whether one candidate fits within every limit.

use std::sync::Arc;

use super::candidate::{InstanceKey, Lane};
use super::executors::Executor;
use super::in_use::InUse;
use super::limits::{DagLimits, Limits, Pool};
use super::refusal::Refusal;
use crate::state::TaskState;

/// What was admitted in a call takes up.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    in_use: InUse,
    /// By the executor's place in the list.
    executors: Vec<i64>,
}

impl Taken {
    /// Counts one that was admitted.
    pub(super) fn count(&mut self, key: &InstanceKey, lane: &Lane, executor: usize) {
        // What a negative number gives back counts from the next call on.
        self.in_use.add_slots(&lane.pool, TaskState::Queued, lane.pool_slots.max(0).into());
        self.in_use.add_instances(key, TaskState::Queued, 1);
        if self.executors.len() <= executor {
            self.executors.resize(executor + 1, 0);
        }
        self.executors[executor] += 1;
    }

    fn of_executor(&self, executor: usize) -> i64 {
        self.executors.get(executor).copied().unwrap_or(0)
    }
}

/// The limits and what of them is used.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) limits: &'a Limits,
    pub(super) in_use: &'a InUse,
}

impl Room<'_> {
    /// The place of the executor for candidates of a lane, or the first limit that is in their way, in the
    /// order in which Airflow looks at them.
    pub(super) fn check(self, lane: &Lane, taken: &Taken) -> Result<usize, Refusal> {
        let dag = self.dag(lane)?;
        self.check_pool(lane, dag, taken)?;
        self.check_all_but_pool(lane, dag, taken)
    }

    /// What is in the way of a lane and of all others of its run in the same pool, if anything is.
    pub(super) fn check_run(self, lane: &Lane, taken: &Taken) -> Result<(), Refusal> {
        let dag = self.dag(lane)?;
        self.pool(lane, dag)?;
        self.check_active_tasks(lane, dag, taken)
    }

    /// Whether candidates of a lane can lack nothing but slots, and would have enough if all were open.
    pub(super) fn can_lack_only_slots(self, lane: &Lane, taken: &Taken) -> bool {
        let found = self.dag(lane).and_then(|dag| {
            let pool = self.pool(lane, dag)?;
            self.check_all_but_pool(lane, dag, taken)?;
            Ok(pool.total().is_some_and(|slots| slots >= lane.pool_slots.into()))
        });
        found == Ok(true)
    }

    /// Why no candidate can have a slot of a pool, if so.
    pub(super) fn check_open(self, pool: &Arc<str>, taken: &Taken) -> Result<(), Refusal> {
        let Some(found) = self.limits.pools.get(pool) else {
            return Err(Refusal::PoolMissing { pool: pool.clone() });
        };
        let in_use = self.slots_in_use(pool, found, taken);
        match found.total() {
            Some(slots) if in_use >= slots => Err(Refusal::PoolFull { pool: pool.clone(), in_use, slots }),
            _ => Ok(()),
        }
    }

    fn dag(&self, lane: &Lane) -> Result<&DagLimits, Refusal> {
        match self.limits.dags.get(&lane.dag_id) {
            None => Err(Refusal::DagUnknown { dag_id: lane.dag_id.clone() }),
            Some(dag) if dag.is_paused => Err(Refusal::DagPaused { dag_id: lane.dag_id.clone() }),
            Some(dag) => Ok(dag),
        }
    }

    fn pool(&self, lane: &Lane, dag: &DagLimits) -> Result<&Pool, Refusal> {
        let Some(pool) = self.limits.pools.get(&lane.pool) else {
            return Err(Refusal::PoolMissing { pool: lane.pool.clone() });
        };
        if let Some(team) = pool.team.as_ref().filter(|team| dag.team.as_ref() != Some(team)) {
            let (pool, team, dag_team) = (lane.pool.clone(), team.clone(), dag.team.clone());
            return Err(Refusal::PoolOfAnotherTeam { pool, team, dag_team });
        }
        Ok(pool)
    }

    fn check_pool(self, lane: &Lane, dag: &DagLimits, taken: &Taken) -> Result<(), Refusal> {
        let pool = self.pool(lane, dag)?;
        self.check_open(&lane.pool, taken)?;
        let Some(slots) = pool.total() else {
            return Ok(());
        };
        let (wanted, open) =
            (lane.pool_slots, slots.saturating_sub(self.slots_in_use(&lane.pool, pool, taken)));
        if i64::from(wanted) > slots {
            return Err(Refusal::LargerThanPool { pool: lane.pool.clone(), wanted, slots });
        }
        if i64::from(wanted) > open {
            return Err(Refusal::TooFewSlots { pool: lane.pool.clone(), wanted, open, slots });
        }
        Ok(())
    }

    fn check_all_but_pool(self, lane: &Lane, dag: &DagLimits, taken: &Taken) -> Result<usize, Refusal> {
        self.check_active_tasks(lane, dag, taken)?;
        let (dag_id, run_id, task_id) = (&lane.dag_id, &lane.run_id, &lane.task_id);
        let active = self.in_all(taken, |used| used.of_task(dag_id, task_id));
        if let Some(limit) = lane.max_active_tis_per_dag.filter(|limit| active >= (*limit).into()) {
            let (dag_id, task_id) = (dag_id.clone(), task_id.clone());
            return Err(Refusal::TaskFull { dag_id, task_id, active, limit });
        }
        let active = self.in_all(taken, |used| used.of_task_in_run(dag_id, run_id, task_id));
        if let Some(limit) = lane.max_active_tis_per_dagrun.filter(|limit| active >= (*limit).into()) {
            let (dag_id, run_id, task_id) = (dag_id.clone(), run_id.clone(), task_id.clone());
            return Err(Refusal::TaskFullInRun { dag_id, run_id, task_id, active, limit });
        }
        self.check_executor(lane, dag, taken)
    }

    fn check_active_tasks(self, lane: &Lane, dag: &DagLimits, taken: &Taken) -> Result<(), Refusal> {
        let active = self.in_all(taken, |used| used.of_run(&lane.dag_id, &lane.run_id));
        let limit = dag.max_active_tasks;
        if active < limit.into() {
            return Ok(());
        }
        let (dag_id, run_id) = lane.run();
        Err(Refusal::RunFull { dag_id, run_id, active, limit })
    }

    fn check_executor(self, lane: &Lane, dag: &DagLimits, taken: &Taken) -> Result<usize, Refusal> {
        let executors = &self.limits.executors;
        let found = executors.resolve(lane.executor.as_deref(), dag.team.as_deref());
        let Some((place, executor)) = found.and_then(|place| Some((place, executors.list.get(place)?)))
        else {
            return Err(Refusal::ExecutorUnknown { executor: lane.executor.clone(), team: dag.team.clone() });
        };
        let occupied = executor.occupied.saturating_add(taken.of_executor(place));
        let Executor { slots, .. } = *executor;
        if occupied >= slots {
            return Err(Refusal::ExecutorFull { executor: executor.name.short().clone(), occupied, slots });
        }
        Ok(place)
    }

    fn slots_in_use(self, name: &str, pool: &Pool, taken: &Taken) -> i64 {
        self.in_all(taken, |used| used.slots(name, pool.include_deferred))
    }

    /// What was in use before, and what was admitted since.
    fn in_all(self, taken: &Taken, count: impl Fn(&InUse) -> i64) -> i64 {
        count(self.in_use).saturating_add(count(&taken.in_use))
    }
}
