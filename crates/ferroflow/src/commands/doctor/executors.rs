//! `[core] executor`: who is to run tasks.

use ferroflow_config::{Configuration, Settings};
use ferroflow_executor::{ExecutorName, LOCAL_EXECUTOR, executor_names, is_available};

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
    let (path, class) = (&*name.module_path, name.class());
    if is_available(name) {
        let place = if path == LOCAL_EXECUTOR { " in processes of the scheduler's host" } else { "" };
        return Finding::ok(format!("{class}: up to {slots} tasks run{place}"));
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
