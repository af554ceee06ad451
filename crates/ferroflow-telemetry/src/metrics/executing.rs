//! The metrics of executors.

use metrics::gauge;

use super::tags::{counted, tag};

/// Every name of Airflow's here, and its kind in Airflow's `metrics_template.yaml`.
pub const NAMES: [(&str, &str); 3] = [
    ("executor.open_slots", "gauge"),
    ("executor.queued_tasks", "gauge"),
    ("executor.running_tasks", "gauge"),
];

/// How many processes of a kind were killed and are there still. Airflow has no such metric.
pub fn unkillable(kind: &'static str, number: usize) {
    gauge!("ferroflow.processes.unkillable", "kind" => kind).set(counted(number));
}

/// An executor, as metrics name it.
#[derive(Clone, Copy, Debug)]
pub struct ExecutorTags<'a> {
    /// Its class, without the module.
    pub class: &'a str,
    /// The team it belongs to.
    pub team_name: Option<&'a str>,
    /// Whether there are others, so that names tell which one it is.
    pub is_one_of_several: bool,
}

/// What an executor has and takes.
pub fn slots(executor: ExecutorTags<'_>, open: usize, queued: usize, running: usize) {
    let values = [
        ("executor.open_slots", "open", open),
        ("executor.queued_tasks", "queued", queued),
        ("executor.running_tasks", "running", running),
    ];
    for (name, status, number) in values {
        let name =
            if executor.is_one_of_several { format!("{name}.{}", executor.class) } else { name.to_owned() };
        let mut labels = vec![tag("status", status), tag("executor_class_name", executor.class)];
        labels.extend(executor.team_name.map(|team| tag("team_name", team)));
        gauge!(name, labels).set(counted(number));
    }
}
