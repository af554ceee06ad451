//! From the names in `[core] executor` to executors: the one place that knows all kinds of them.

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_model::admission::ExecutorName;
use ferroflow_supervisor::Supervision;
use tokio::sync::mpsc::UnboundedSender;

use crate::{BadExecutors, EventSender, Executor, ExecutorEvent, ExecutorSet, LocalExecutor, NamedExecutor};

/// The path of Airflow's `LocalExecutor`.
pub const LOCAL_EXECUTOR: &str = "airflow.executors.local_executor.LocalExecutor";

/// An executor that Airflow knows by its class alone.
pub(crate) struct Kind {
    pub(crate) class: &'static str,
    pub(crate) module_path: &'static str,
    /// What makes one; none where only the official scheduler has it.
    construct: Option<Construct>,
}

type Construct = fn(&Resources, EventSender) -> Arc<dyn Executor>;

/// The executors that need no path in `[core] executor`.
pub(crate) const KINDS: [Kind; 3] = [
    Kind { class: "LocalExecutor", module_path: LOCAL_EXECUTOR, construct: Some(LocalExecutor::construct) },
    Kind {
        class: "CeleryExecutor",
        module_path: "airflow.providers.celery.executors.celery_executor.CeleryExecutor",
        construct: None,
    },
    Kind {
        class: "KubernetesExecutor",
        module_path: "airflow.providers.cncf.kubernetes.executors.kubernetes_executor.KubernetesExecutor",
        construct: None,
    },
];

/// What executors are made of.
pub struct Resources {
    pub settings: Arc<Settings>,
    /// Runs workloads on this host.
    pub supervision: Arc<Supervision>,
}

/// Makes the executors of these names. What happens to what they run is told through the channel.
pub fn construct(
    names: Vec<ExecutorName>,
    resources: &Resources,
    events: &UnboundedSender<ExecutorEvent>,
) -> Result<ExecutorSet, BadExecutors> {
    let mut executors = Vec::new();
    for name in names {
        let Some(construct) = constructor(&name) else {
            return Err(BadExecutors::NotAvailable(name.module_path.to_string()));
        };
        executors.push(NamedExecutor::new(name, events, |events| construct(resources, events)));
    }
    Ok(ExecutorSet::new(executors))
}

/// Whether there is such an executor here.
pub fn is_available(name: &ExecutorName) -> bool {
    constructor(name).is_some()
}

fn constructor(name: &ExecutorName) -> Option<Construct> {
    KINDS.iter().find(|kind| *kind.module_path == *name.module_path)?.construct
}
