//! Queued rows become workloads, and go to their executors. The transaction that queued them is committed: if this
//! process ends in between, its peers find them by its job.

use std::collections::BTreeMap;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_execution::Service;
use ferroflow_executor::{EventKind, ExecuteTask, TaskTry, Workload};
use ferroflow_telemetry::chain;

use crate::LogPaths;
use crate::executor_events::record_failure;
use crate::executors::{Executors, TrackedEvent};
use crate::queue_tasks::QueuedTask;
use crate::workload::{DagFile, workload};

/// What became of rows that were queued.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dispatched {
    /// How many went to their executors.
    pub submitted: usize,
    /// Those that could not, and why. They have failed, or are tried again if they may be.
    pub impossible: Vec<(TaskInstanceKey, String)>,
    /// Those that could not, of which the database did not take that. It is still to be put down.
    pub to_fail: Vec<TrackedEvent>,
}

/// Hands queued task instances to their executors.
pub async fn dispatch(
    service: &Service,
    paths: &LogPaths,
    executors: &mut Executors,
    queued: &[QueuedTask],
) -> Dispatched {
    let mut dispatched = Dispatched::default();
    let (mut impossible, mut of_executors) = (Vec::new(), BTreeMap::<usize, Vec<Workload>>::new());
    for task in queued {
        match made(task, paths) {
            Ok(workload) => {
                let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &task.row.key;
                let try_number = task.row.try_number;
                tracing::debug!(
                    dag_id,
                    run_id,
                    task_id,
                    map_index,
                    try_number,
                    "task instance sent to its executor"
                );
                of_executors.entry(task.executor).or_default().push(Workload::ExecuteTask(workload));
                dispatched.submitted += 1;
            }
            Err(reason) => impossible.push((task, reason)),
        }
    }
    for (place, workloads) in of_executors {
        executors.submit(place, workloads);
    }
    // Only now: the others do not wait for it.
    for (task, reason) in impossible {
        let (id, try_number, key) = (task.row.id, task.row.try_number, task.row.key.clone());
        match record_failure(service, id, try_number, &reason).await {
            Ok(_) => dispatched.impossible.push((key, reason)),
            Err(error) => {
                tracing::warn!(%id, "task instance could not be sent to its executor; recording its failure is retried: {}", chain(&error));
                let (task, kind) = (TaskTry { id, key, try_number }, EventKind::NotStarted(reason));
                dispatched.to_fail.push(TrackedEvent { task, kind, is_told: false, is_still_known: false });
            }
        }
    }
    dispatched
}

fn made(task: &QueuedTask, paths: &LogPaths) -> Result<ExecuteTask, String> {
    if task.row.dag_version_id.is_none() {
        return Err("it is of no version of its DAG; clear it to have it made anew".to_owned());
    }
    let made = workload(&task.run.run, DagFile::from(&*task.run), &task.row, paths);
    made.map_err(|error| error.to_string())
}
