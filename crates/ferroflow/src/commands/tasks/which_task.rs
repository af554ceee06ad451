//! A task of a stored DAG, by its name, and its instance in a run.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use ferroflow_config::{Configuration, nearest};
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::task_instance::siblings::{self, Sibling};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_model::dag::{Dag, TaskIndex};
use ferroflow_model::id::NOT_MAPPED;

use crate::commands::dags::bundles::BundleArgs;
use crate::commands::dags::stored;
use crate::commands::which_run::require_run;

/// The arguments that name an instance.
#[derive(Args, Debug)]
pub(crate) struct InstanceArgs {
    /// The DAG
    pub(super) dag_id: String,
    /// The task
    pub(super) task_id: String,
    /// The run, by its name or its logical date
    pub(super) logical_date_or_run_id: String,
    /// Which of the instances of a mapped task
    #[arg(long, default_value_t = NOT_MAPPED, allow_negative_numbers = true, value_name = "NUMBER")]
    pub(super) map_index: i32,
    #[command(flatten)]
    pub(super) bundles: BundleArgs,
    /// Accepted for compatibility: the configuration decides what is logged
    #[arg(short, long)]
    verbose: bool,
}

/// The run that is meant, and the instance in it.
pub(super) async fn find(
    db: &Db,
    configuration: &Configuration,
    args: &InstanceArgs,
) -> Result<(DagRun, Sibling)> {
    let stored = stored::find(db, &args.dag_id).await?;
    let is_mapped = is_mapped(&stored.dag, args)?;
    let run = require_run(db, configuration, &args.dag_id, &args.logical_date_or_run_id).await?;
    let (dag_id, run_id) = (run.dag_id.as_str(), run.run_id.as_str());
    let all = db.read(|tx| async move { siblings::of_run(tx, dag_id, run_id).await }.scope_boxed()).await?;
    let is_meant = |one: &Sibling| one.task_id == args.task_id && one.map_index == args.map_index;
    let found = all.into_iter().find(is_meant);
    let found = found.ok_or_else(|| {
        let index = if is_mapped { format!(" and map index {}", args.map_index) } else { String::new() };
        anyhow!("run {run_id} has no instance of task {}{index}", args.task_id)
    })?;
    Ok((run, found))
}

/// Whether the task is mapped: then one of its instances has to be named, and otherwise none.
pub(super) fn is_mapped(dag: &Dag, args: &InstanceArgs) -> Result<bool> {
    let is_mapped = dag.needs_expansion(task(dag, &args.task_id)?);
    if is_mapped && args.map_index < 0 {
        bail!("task {} is mapped: --map-index says which of its instances is meant", args.task_id);
    }
    if !is_mapped && args.map_index >= 0 {
        bail!("task {} is not mapped, and has no --map-index", args.task_id);
    }
    Ok(is_mapped)
}

/// A task, or near names.
pub(super) fn task(dag: &Dag, task_id: &str) -> Result<TaskIndex> {
    dag.find(task_id).ok_or_else(|| {
        let names = dag.tasks().iter().map(|task| &*task.task_id).collect();
        let near: Vec<&str> = nearest(task_id, names).collect();
        let help = if near.is_empty() {
            format!("`ferroflow tasks list {}` shows those that it has", dag.dag_id)
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        anyhow!("DAG {} has no task {task_id:?}; {help}", dag.dag_id)
    })
}
