//! What an executor is told about a queued task instance.

use ferroflow_db::dag_run::DagRun;
use ferroflow_db::dag_run::lookup::RunWithDag;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_executor::{Bundle, ExecuteTask, WorkloadInstance};

use crate::log_path::{LogPaths, TemplateError};
use crate::run::Definition;

/// Where the file of a DAG is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DagFile<'a> {
    /// Its bundle.
    pub bundle_name: &'a str,
    /// Its path within the bundle.
    pub relative_fileloc: &'a str,
}

impl<'a> From<&'a Definition> for DagFile<'a> {
    fn from(definition: &'a Definition) -> Self {
        Self { bundle_name: &definition.bundle_name, relative_fileloc: &definition.relative_fileloc }
    }
}

impl<'a> From<&'a RunWithDag> for DagFile<'a> {
    fn from(run: &'a RunWithDag) -> Self {
        let relative_fileloc = run.relative_fileloc.as_deref().unwrap_or_default();
        Self { bundle_name: &run.bundle_name, relative_fileloc }
    }
}

/// The workload of a queued task instance of a run. It carries no token: an executor that sends it out of this process adds one.
pub fn workload(
    run: &DagRun,
    file: DagFile<'_>,
    instance: &TaskInstance,
    paths: &LogPaths,
) -> Result<ExecuteTask, TemplateError> {
    Ok(ExecuteTask {
        token: String::new(),
        dag_rel_path: file.relative_fileloc.to_owned(),
        bundle_info: Bundle { name: file.bundle_name.to_owned(), version: run.bundle_version.clone() },
        log_path: Some(paths.path(run, instance)?),
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
