//! The metrics of runs, from when they are made to their end.

use metrics::{Label, counter, gauge, histogram};

use super::tags::{RunTags, counted, milliseconds, tag};

/// Every name of Airflow's here, and its kind in Airflow's `metrics_template.yaml`.
pub const NAMES: [(&str, &str); 14] = [
    ("dagrun.schedule_delay", "timer"),
    ("dagrun.dependency-check", "timer"),
    ("dagrun.duration.success", "timer"),
    ("dagrun.duration.failed", "timer"),
    ("dagrun.first_task_scheduling_delay", "timer"),
    ("task_instance_created", "counter"),
    ("task_removed_from_dag", "counter"),
    ("task_restored_to_dag", "counter"),
    ("asset.updates", "counter"),
    ("asset.orphaned", "gauge"),
    ("asset.triggered_dagruns", "counter"),
    ("deadline_alerts.deadline_created", "counter"),
    ("deadline_alerts.deadline_missed", "counter"),
    ("deadline_alerts.deadline_not_missed", "counter"),
];

/// Task instances were made for a run, so many of each kind of operator.
pub fn instances_created(run: RunTags<'_>, operators: &[(String, usize)]) {
    for (operator, number) in operators {
        let mut labels = run.labels();
        labels.push(tag("task_type", operator));
        counter!("task_instance_created", labels).increment(*number as u64);
    }
}

/// Assets have asked for a run, and it was made.
pub fn triggered_by_assets() {
    counter!("asset.triggered_dagruns").increment(1);
}

/// Assets have changed so many times, by a task of this team's.
pub fn assets_updated(number: usize, team_name: Option<&str>) {
    let labels: Vec<Label> = team_name.map(|team| tag("team_name", team)).into_iter().collect();
    counter!("asset.updates", labels).increment(number as u64);
}

/// So many assets were found that nothing refers to any more.
pub fn assets_orphaned(number: usize) {
    gauge!("asset.orphaned").set(counted(number));
}

/// A run has started, so many seconds after it should have.
pub fn started(dag_id: &str, delay: f64) {
    histogram!("dagrun.schedule_delay", vec![tag("dag_id", dag_id)]).record(milliseconds(delay));
}

/// It was looked what is next in a run, which took so many seconds.
pub fn examined(run: RunTags<'_>, took: f64) {
    histogram!("dagrun.dependency-check", run.labels()).record(milliseconds(took));
}

/// A run has ended, so many seconds after its start.
pub fn ended(run: RunTags<'_>, is_success: bool, duration: f64) {
    let name = if is_success { "dagrun.duration.success" } else { "dagrun.duration.failed" };
    histogram!(name, run.labels()).record(milliseconds(duration));
}

/// The first task of a scheduled run has begun so many seconds after the run was due. Airflow sends the legacy name twice:
/// once by itself and once with the other; it is here once.
pub fn first_task_scheduled(run: RunTags<'_>, delay: f64) {
    histogram!("dagrun.first_task_scheduling_delay", run.labels()).record(milliseconds(delay));
}

/// The first task of a scheduled run has begun so many seconds after the run was queued.
pub fn first_task_started(run: RunTags<'_>, delay: f64) {
    histogram!("dagrun.first_task_start_delay", run.labels()).record(milliseconds(delay));
}

/// The DAG of a run has lost a task.
pub fn task_removed(run: RunTags<'_>) {
    counter!("task_removed_from_dag", run.labels()).increment(1);
}

/// The DAG of a run has a task again that it had lost.
pub fn task_restored(run: RunTags<'_>) {
    counter!("task_restored_to_dag", run.labels()).increment(1);
}

/// A run has so many deadlines.
pub fn deadlines_created(dag_id: &str, number: usize) {
    counter!("deadline_alerts.deadline_created", vec![tag("dag_id", dag_id)]).increment(number as u64);
}

/// A run has missed a deadline.
pub fn deadline_missed(dag_id: &str, run_id: &str) {
    let labels = vec![tag("dag_id", dag_id), tag("dagrun_id", run_id)];
    counter!("deadline_alerts.deadline_missed", labels).increment(1);
}

/// A run has ended before so many of its deadlines.
pub fn deadlines_met(dag_id: &str, run_id: &str, number: usize) {
    let labels = vec![tag("dag_id", dag_id), tag("dagrun_id", run_id)];
    counter!("deadline_alerts.deadline_not_missed", labels).increment(number as u64);
}
