//! A task of a stored DAG, by its name, and its instance in a run.

use ferroflow_config::nearest;
use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::task_instance::siblings::{self, Sibling};
use ferroflow_model::dag::{Dag, TaskIndex};

use crate::dag_run::{self, RunName};
use crate::{OperationError, Operations, dag};

/// A task instance as it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct InstanceName<'a> {
    pub run: RunName<'a>,
    pub task_id: &'a str,
    /// Below zero for a task that is not mapped.
    pub map_index: i32,
}

/// The run that is meant, and the instance in it.
pub async fn find(
    operations: &Operations,
    name: InstanceName<'_>,
) -> Result<(DagRun, Sibling), OperationError> {
    let InstanceName { run, task_id, map_index } = name;
    let stored = dag::find(&operations.db, run.dag_id).await?;
    let is_mapped = check_mapped(&stored.dag, task_id, map_index)?;
    let run = dag_run::find(operations, run).await?;
    let (dag_id, run_id) = (run.dag_id.as_str(), run.run_id.as_str());
    let read =
        operations.db.read(|tx| async move { siblings::of_run(tx, dag_id, run_id).await }.scope_boxed());
    let is_meant = |one: &Sibling| one.task_id == task_id && one.map_index == map_index;
    let found = read.await?.into_iter().find(is_meant);
    let found = found.ok_or_else(|| {
        let index = if is_mapped { format!(" and map index {map_index}") } else { String::new() };
        OperationError::not_found(format!("run {run_id} has no instance of task {task_id}{index}"))
    })?;
    Ok((run, found))
}

/// Whether the task is mapped: then one of its instances has to be named, and otherwise none.
pub fn check_mapped(dag: &Dag, task_id: &str, map_index: i32) -> Result<bool, OperationError> {
    let is_mapped = dag.needs_expansion(find_task(dag, task_id)?);
    let problem = match (is_mapped, map_index >= 0) {
        (true, false) => {
            format!("task {task_id} is mapped: --map-index says which of its instances is meant")
        }
        (false, true) => format!("task {task_id} is not mapped, and has no --map-index"),
        _ => return Ok(is_mapped),
    };
    Err(OperationError::invalid("map_index", problem))
}

/// A task, or near names.
pub fn find_task(dag: &Dag, task_id: &str) -> Result<TaskIndex, OperationError> {
    dag.find(task_id).ok_or_else(|| {
        let names = dag.tasks().iter().map(|task| &*task.task_id).collect();
        let near: Vec<&str> = nearest(task_id, names).collect();
        let help = if near.is_empty() {
            format!("`ferroflow tasks list {}` shows those that it has", dag.dag_id)
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        OperationError::not_found(format!("DAG {} has no task {task_id:?}; {help}", dag.dag_id))
    })
}
