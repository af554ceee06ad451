//! A task instance as it was typed.

use clap::Args;
use ferroflow_config::Configuration;
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_operations::task_instance::InstanceName;

use crate::commands::dags::bundles::BundleArgs;
use crate::commands::which_run::run_name;

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

impl InstanceArgs {
    /// The instance that is meant.
    pub(super) fn name(&self, configuration: &Configuration) -> InstanceName<'_> {
        let run = run_name(configuration, &self.dag_id, &self.logical_date_or_run_id);
        InstanceName { run, task_id: &self.task_id, map_index: self.map_index }
    }
}
