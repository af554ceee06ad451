//! How many task instances of a run may run at a time.

use std::collections::HashMap;

use ferroflow_model::dag::TaskIndex;
use ferroflow_model::readiness::InstanceRef;

use super::Running;
use crate::run::{ActiveRun, SeenInstance};

/// The first of those that are ready: so many that neither the slots are exceeded nor what the DAG and its tasks allow to
/// run at a time.
pub(super) fn first_within_limits(
    run: &ActiveRun,
    running: &Running,
    ready: &[SeenInstance],
    slots: usize,
) -> Vec<InstanceRef> {
    let dag = run.definition.dag();
    // With none at a time nothing would ever happen.
    let limit = |limit: i32| usize::try_from(limit).unwrap_or(0).max(1);
    let mut active: HashMap<TaskIndex, usize> = HashMap::new();
    for handed in running.values().filter(|handed| !handed.is_told) {
        *active.entry(handed.instance.task).or_default() += 1;
    }
    let free = limit(dag.max_active_tasks).saturating_sub(active.values().sum());
    let mut first = Vec::new();
    for InstanceRef { task, map_index } in ready.iter().map(|instance| instance.reference) {
        if first.len() == free.min(slots) {
            break;
        }
        let details = dag[task].details();
        let limits = [details.max_active_tis_per_dagrun, details.max_active_tis_per_dag];
        let most = limits.into_iter().flatten().map(limit).min().unwrap_or(usize::MAX);
        let active = active.entry(task).or_default();
        if *active < most {
            *active += 1;
            first.push(InstanceRef { task, map_index });
        }
    }
    first
}
