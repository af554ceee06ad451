//! What is in use, as the database has it.

use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_db::task_instance::queueing;
use ferroflow_db::{Error as DbError, Tx};
use ferroflow_model::admission::{InUse, InstanceKey};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::TaskState;

use super::memory::Memory;

/// Counts what is in use of all that matters for those that wait. Only who holds the pools may believe it.
pub(super) async fn in_use(tx: &mut Tx, memory: &Mutex<Memory>) -> Result<InUse, DbError> {
    let Needed { pools, dags, tasks } = Needed::of(memory);
    let mut in_use = InUse::default();
    for at_work in queueing::at_work(tx).await? {
        let key = key(&at_work.dag_id, &at_work.run_id, &at_work.task_id);
        let slots = i64::from(at_work.pool_slots).saturating_mul(at_work.instances);
        // Those that are running hold the same.
        in_use.add_slots(&Arc::from(at_work.pool), TaskState::Queued, slots);
        in_use.add_instances(&key, TaskState::Queued, at_work.instances);
    }
    if !pools.is_empty() {
        for deferred in queueing::deferred_in_pools(tx, &texts(&pools)).await? {
            let slots = i64::from(deferred.pool_slots).saturating_mul(deferred.instances);
            in_use.add_slots(&Arc::from(deferred.pool), TaskState::Deferred, slots);
        }
    }
    if !dags.is_empty() {
        for parked in queueing::parked_of_tasks(tx, &texts(&dags), &texts(&tasks)).await? {
            let key = key(&parked.dag_id, &parked.run_id, &parked.task_id);
            // Limits of tasks count who waits for a person and who waits for a trigger alike.
            in_use.add_instances(&key, TaskState::Deferred, parked.instances);
        }
    }
    Ok(in_use)
}

/// What has to be counted besides what is at work.
struct Needed {
    /// The pools that are waited for and whose slots deferred instances keep.
    pools: Vec<Arc<str>>,
    /// The DAGs with tasks that limit their instances and are waited for.
    dags: Vec<Arc<str>>,
    /// The names of these tasks.
    tasks: Vec<Arc<str>>,
}

impl Needed {
    fn of(memory: &Mutex<Memory>) -> Self {
        let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = memory.limits.pools.iter();
        let keeping = pools.filter(|(name, pool)| pool.include_deferred && memory.waiting.waits_for(name));
        let pools = keeping.map(|(name, _)| Arc::clone(name)).collect();
        let (dags, tasks) = memory.limited();
        Self { pools, dags, tasks }
    }
}

fn texts(shared: &[Arc<str>]) -> Vec<&str> {
    shared.iter().map(|text| &**text).collect()
}

fn key(dag_id: &str, run_id: &str, task_id: &str) -> InstanceKey {
    InstanceKey {
        dag_id: Arc::from(dag_id),
        run_id: Arc::from(run_id),
        task_id: Arc::from(task_id),
        map_index: NOT_MAPPED,
    }
}
