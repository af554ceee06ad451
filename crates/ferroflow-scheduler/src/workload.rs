//! What an executor is told about a queued task instance.

use ferroflow_db::task_instance::TaskInstance;
use ferroflow_executor::{Bundle, Workload, WorkloadInstance};

use crate::log_path::{LogPaths, TemplateError};
use crate::run::ActiveRun;

/// The workload of a queued task instance of a run. It carries no token: whoever sends it out of this process adds one.
pub fn workload(
    run: &ActiveRun,
    instance: &TaskInstance,
    paths: &LogPaths,
) -> Result<Workload, TemplateError> {
    Ok(Workload {
        token: String::new(),
        dag_rel_path: run.definition.relative_fileloc.clone(),
        bundle_info: Bundle {
            name: run.definition.bundle_name.clone(),
            version: run.row.bundle_version.clone(),
        },
        log_path: Some(paths.path(&run.row, instance)?),
        ti: WorkloadInstance {
            id: instance.id,
            task_id: instance.key.task_id.clone(),
            dag_id: instance.key.dag_id.clone(),
            run_id: instance.key.run_id.clone(),
            try_number: instance.try_number,
            dag_version_id: instance.dag_version_id,
            map_index: instance.key.map_index,
            hostname: instance.hostname.clone(),
            context_carrier: instance.context_carrier.clone(),
            queue: instance.queue.clone().unwrap_or_else(|| "default".to_owned()),
            pool_slots: instance.pool_slots,
            priority_weight: instance.priority_weight.unwrap_or(1),
        },
        sentry_integration: String::new(),
    })
}
