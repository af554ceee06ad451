//! What is in use, as the database has it.

use std::sync::{Arc, Mutex};

use ferroflow_db::task_instance::queueing::{self, HoldingSlots, TaskInRun};
use ferroflow_db::{Error as DbError, Tx};
use ferroflow_model::admission::{InUse, InstanceKey};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::TaskState;

use super::memory::Memory;
use super::section::locked;

/// If those that could be queued wait in so many runs, what is at work is counted in all, and not in their DAGs alone.
const MAX_RUNS: usize = 1000;

/// Counts what is in use of all that matters for those that wait. It is true as long as the pools are locked.
pub(super) async fn in_use(tx: &mut Tx, memory: &Mutex<Memory>) -> Result<InUse, DbError> {
    let mut in_use = InUse::default();
    for holding in queueing::holding_slots(tx).await? {
        // Those that are running hold the same.
        add_slots(&mut in_use, holding, TaskState::Queued);
    }
    let pools = pools_with_deferred(memory);
    if !pools.is_empty() {
        for deferred in queueing::deferred_in_pools(tx, &texts(&pools)).await? {
            add_slots(&mut in_use, deferred, TaskState::Deferred);
        }
    }
    let (could_be_queued, (dags, tasks)) = {
        let memory = locked(memory);
        let dags = memory.waiting.dags_of_open_pools(&memory.limits, &in_use, MAX_RUNS);
        (dags, memory.limited())
    };
    let at_work = match could_be_queued {
        Some(dags) => queueing::at_work_of(tx, &texts(&dags)).await?,
        None => queueing::at_work(tx).await?,
    };
    for at_work in at_work {
        in_use.add_instances(&key(&at_work), TaskState::Queued, at_work.instances);
    }
    if !dags.is_empty() {
        for parked in queueing::deferred_of_tasks(tx, &texts(&dags), &texts(&tasks)).await? {
            // Limits of tasks count who waits for a person and who waits for a trigger alike.
            in_use.add_instances(&key(&parked), TaskState::Deferred, parked.instances);
        }
    }
    Ok(in_use)
}

/// The pools that are waited for and whose slots deferred instances keep.
fn pools_with_deferred(memory: &Mutex<Memory>) -> Vec<Arc<str>> {
    let memory = locked(memory);
    let pools = memory.limits.pools.iter();
    let keeping = pools.filter(|(name, pool)| pool.include_deferred && memory.waiting.waits_for(name));
    keeping.map(|(name, _)| Arc::clone(name)).collect()
}

fn add_slots(in_use: &mut InUse, holding: HoldingSlots, state: TaskState) {
    let slots = i64::from(holding.pool_slots).saturating_mul(holding.instances);
    in_use.add_slots(&Arc::from(holding.pool), state, slots);
}

fn texts(shared: &[Arc<str>]) -> Vec<&str> {
    shared.iter().map(|text| &**text).collect()
}

fn key(task: &TaskInRun) -> InstanceKey {
    InstanceKey {
        dag_id: Arc::from(task.dag_id.as_str()),
        run_id: Arc::from(task.run_id.as_str()),
        task_id: Arc::from(task.task_id.as_str()),
        map_index: NOT_MAPPED,
    }
}
