//! How much of the limits is taken.

use std::sync::Arc;

use foldhash::HashMap;

use super::candidate::InstanceKey;
use crate::state::TaskState;

/// What active task instances hold, and in all.
///
/// Either it is made anew from sums, with [`add_slots`](Self::add_slots) and
/// [`add_instances`](Self::add_instances), by who looks under a lock and forgets it with the lock; or it is
/// kept and told of each task instance with [`set`](Self::set). Of one that is only in a sum, nothing is known
/// here: its end is not taken off the sum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InUse {
    holders: HashMap<InstanceKey, Held>,
    pools: HashMap<Arc<str>, PoolUse>,
    runs: HashMap<(Arc<str>, Arc<str>), i128>,
    tasks: HashMap<(Arc<str>, Arc<str>), i128>,
    tasks_of_runs: HashMap<TaskOfRun, i128>,
}

/// What one task instance holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    pool: Arc<str>,
    pool_slots: i32,
    state: TaskState,
}

/// The ids of a DAG, a run and a task.
type TaskOfRun = (Arc<str>, Arc<str>, Arc<str>);

/// Sums are wide enough for any number of terms, as one that was cut off could not be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PoolUse {
    executing: i128,
    deferred: i128,
}

impl InUse {
    /// Says in which state a task instance is, whatever was said of it before: the last word counts, and saying
    /// it twice changes nothing. `None`, and each state in which it holds nothing, is its end.
    pub fn set(&mut self, key: &InstanceKey, pool: &Arc<str>, pool_slots: i32, state: Option<TaskState>) {
        if let Some(former) = self.holders.remove(key) {
            self.change_slots(&former.pool, former.state, -i128::from(former.pool_slots));
            self.change_instances(key, former.state, -1);
        }
        if let Some(state) = state.filter(|state| is_active(*state)) {
            self.change_slots(pool, state, pool_slots.into());
            self.change_instances(key, state, 1);
            self.holders.insert(key.clone(), Held { pool: Arc::clone(pool), pool_slots, state });
        }
    }

    /// Adds to the slots of a pool that task instances in a state hold. Only those that are queued, running
    /// or deferred hold any.
    pub fn add_slots(&mut self, pool: &Arc<str>, state: TaskState, slots: i64) {
        self.change_slots(pool, state, slots.into());
    }

    /// Adds to the number of task instances in a state, of the key's task in its run; the map index plays no
    /// part. There are never fewer than none: a number below zero makes no room for others.
    pub fn add_instances(&mut self, key: &InstanceKey, state: TaskState, count: i64) {
        self.change_instances(key, state, count.max(0).into());
    }

    fn change_slots(&mut self, pool: &Arc<str>, state: TaskState, slots: i128) {
        let mut used = self.pools.get(pool).copied().unwrap_or_default();
        match state {
            TaskState::Queued | TaskState::Running => used.executing += slots,
            TaskState::Deferred => used.deferred += slots,
            _ => return,
        }
        if used == PoolUse::default() {
            self.pools.remove(pool);
        } else {
            self.pools.insert(Arc::clone(pool), used);
        }
    }

    fn change_instances(&mut self, key: &InstanceKey, state: TaskState, count: i128) {
        let (dag, run, task) = (&key.dag_id, &key.run_id, &key.task_id);
        if matches!(state, TaskState::Queued | TaskState::Running) {
            add(&mut self.runs, (Arc::clone(dag), Arc::clone(run)), count);
        }
        if is_active(state) {
            add(&mut self.tasks, (Arc::clone(dag), Arc::clone(task)), count);
            add(&mut self.tasks_of_runs, (Arc::clone(dag), Arc::clone(run), Arc::clone(task)), count);
        }
    }

    /// The slots of a pool that are taken.
    pub(super) fn slots(&self, pool: &str, include_deferred: bool) -> i64 {
        let used = self.pools.get(pool).copied().unwrap_or_default();
        narrow(used.executing + if include_deferred { used.deferred } else { 0 })
    }

    /// How many task instances of a run are queued or running.
    pub(super) fn of_run(&self, dag_id: &Arc<str>, run_id: &Arc<str>) -> i64 {
        narrow(self.runs.get(&(Arc::clone(dag_id), Arc::clone(run_id))).copied().unwrap_or(0))
    }

    /// How many instances of a task are active, over all runs.
    pub(super) fn of_task(&self, dag_id: &Arc<str>, task_id: &Arc<str>) -> i64 {
        narrow(self.tasks.get(&(Arc::clone(dag_id), Arc::clone(task_id))).copied().unwrap_or(0))
    }

    /// How many instances of a task are active in a run.
    pub(super) fn of_task_in_run(&self, dag_id: &Arc<str>, run_id: &Arc<str>, task_id: &Arc<str>) -> i64 {
        let key = (Arc::clone(dag_id), Arc::clone(run_id), Arc::clone(task_id));
        narrow(self.tasks_of_runs.get(&key).copied().unwrap_or(0))
    }
}

/// Whether the limits of tasks count a state. Those of runs do not count who waits for a trigger or a person.
fn is_active(state: TaskState) -> bool {
    use TaskState::{AwaitingInput, Deferred, Queued, Running};
    matches!(state, Queued | Running | Deferred | AwaitingInput)
}

fn add<K: Eq + std::hash::Hash>(counts: &mut HashMap<K, i128>, key: K, count: i128) {
    let sum = counts.get(&key).copied().unwrap_or(0) + count;
    if sum == 0 {
        counts.remove(&key);
    } else {
        counts.insert(key, sum);
    }
}

/// More than there can be of anything is as good as the most.
fn narrow(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}
