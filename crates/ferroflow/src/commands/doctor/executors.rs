//! `[core] executor`: who is to run tasks.

use ferroflow_config::{Configuration, Settings};
use ferroflow_scheduler::LOCAL_EXECUTOR;
use ferroflow_scheduler::executors::{ExecutorName, executor_names};

use super::finding::{Finding, Topic};

pub(super) fn examine(configuration: &Configuration, settings: &Settings) -> Topic {
    let place = configuration.get("core", "executor").ok().flatten().map(|value| value.source.to_string());
    let place = place.unwrap_or_default();
    let findings = match executor_names(&settings.core.executor, settings.core.multi_team) {
        Err(error) => vec![Finding::problem(error.to_string()).at(place)],
        Ok(names) => names.iter().map(|name| judge(name, settings.core.parallelism, &place)).collect(),
    };
    Topic::new("Executors", findings)
}

fn judge(name: &ExecutorName, slots: u32, place: &str) -> Finding {
    let path = name.module_path.as_str();
    let class = path.rsplit('.').next().unwrap_or(path);
    if path == LOCAL_EXECUTOR {
        return Finding::ok(format!(
            "LocalExecutor: up to {slots} tasks run in processes of the scheduler's host"
        ));
    }
    let text = format!("{class} ({path}) is not available: `ferroflow scheduler` refuses to start with it");
    let advice = if path.contains(".celery.") {
        "keep the official scheduler for now, or set [core] executor = LocalExecutor for ferroflow if one host can run \
         the tasks: none may be queued for Celery when you swap. `ferroflow dag-processor` can be swapped in meanwhile"
    } else if path.contains(".kubernetes.") {
        "keep the official scheduler for now, or set [core] executor = LocalExecutor for ferroflow if one host can run \
         the tasks without what executor_config asks for. `ferroflow dag-processor` can be swapped in meanwhile"
    } else {
        "executors are Python, and only LocalExecutor is served: keep the official scheduler for now. `ferroflow \
         dag-processor` can be swapped in meanwhile"
    };
    Finding::problem(text).at(place).advise(advice)
}
