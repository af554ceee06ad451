//! The metrics of the DAG processor.

use std::path::Path;
use std::time::Duration;

use metrics::{Label, counter, gauge, histogram};

use super::name::normalized;
use super::tags::counted;

/// Every name of Airflow's here, and its kind in Airflow's `metrics_template.yaml`.
pub const NAMES: [(&str, &str); 12] = [
    ("dag_processing.processes", "counter"),
    ("dag_processing.processor_timeouts", "counter"),
    ("dag_processing.other_callback_count", "counter"),
    ("dag_processing.callback_only_count", "counter"),
    ("dag_processing.file_path_queue_update_count", "counter"),
    ("dag_processor_heartbeat", "counter"),
    ("dag_processing.file_path_queue_size", "gauge"),
    ("dag_processing.total_parse_time", "gauge"),
    ("dag_processing.import_errors", "gauge"),
    ("dagbag_size", "gauge"),
    ("dag_processing.last_run.seconds_ago", "gauge"),
    ("dag_processing.last_duration", "timer"),
];

/// A DAG file, as tags name it.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The bundle.
    pub bundle_name: &'a str,
    /// The path in the bundle.
    pub path: &'a str,
}

/// How a process ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its file is gone.
    Stop,
    /// It took too long.
    Timeout,
    /// The DAG processor itself ends.
    Terminate,
}

/// A process begins to parse a file.
pub fn process_started(file: File<'_>) {
    gauge!("dag_processing.processes", file.with_action("start")).increment(1.0);
}

/// A process was ended. One that ends by itself is not counted down, as in Airflow.
pub fn process_ended(file: File<'_>, how: Ended) {
    let action = match how {
        Ended::Stop => "stop",
        Ended::Timeout => "timeout",
        Ended::Terminate => "terminate",
    };
    gauge!("dag_processing.processes", file.with_action(action)).decrement(1.0);
}

/// A process took too long.
pub fn processor_timeout(file: File<'_>) {
    counter!("dag_processing.processor_timeouts", vec![file.path_tag()]).increment(1);
}

/// A custom timetable failed, so that its DAG gets no runs. Airflow has no such metric.
pub fn timetable_failed(file: File<'_>) {
    counter!("dag_processing.timetable_failures", vec![file.path_tag(), file.bundle_tag()]).increment(1);
}

/// A callback waits for a file that is not being parsed anyway.
pub fn other_callback() {
    counter!("dag_processing.other_callback_count").increment(1);
}

/// A file was processed for its callbacks alone.
pub fn callback_only() {
    counter!("dag_processing.callback_only_count").increment(1);
}

/// Files were added to the queue.
pub fn file_path_queue_updated() {
    counter!("dag_processing.file_path_queue_update_count").increment(1);
}

/// The DAG processor lives.
pub fn heartbeat() {
    counter!("dag_processor_heartbeat").increment(1);
}

/// How many files wait.
pub fn file_path_queue_size(files: usize) {
    gauge!("dag_processing.file_path_queue_size").set(counted(files));
}

/// What all files together took and gave, when all were parsed once more.
pub fn totals(parse_time: Duration, dags: usize, import_errors: usize) {
    gauge!("dag_processing.total_parse_time").set(parse_time.as_secs_f64());
    gauge!("dagbag_size").set(counted(dags));
    gauge!("dag_processing.import_errors").set(counted(import_errors));
}

/// How long ago a file was parsed.
pub fn last_run_ago(file: File<'_>, ago: Duration) {
    let tags = vec![file.path_tag(), file.bundle_tag(), file.name_tag()];
    gauge!("dag_processing.last_run.seconds_ago", tags).set(ago.as_secs_f64());
}

/// How long a file took. Airflow 3.3 sends seconds where statsd takes milliseconds; so does this, for the sake of
/// what reads them.
pub fn last_duration(file: File<'_>, took: Duration) {
    let tags = vec![file.bundle_tag(), file.name_tag()];
    histogram!("dag_processing.last_duration", tags).record(took.as_secs_f64());
}

impl File<'_> {
    fn path_tag(self) -> Label {
        Label::new("file_path", normalized(self.path).into_owned())
    }

    fn bundle_tag(self) -> Label {
        Label::new("bundle_name", normalized(self.bundle_name).into_owned())
    }

    fn name_tag(self) -> Label {
        let stem = Path::new(self.path).file_stem().unwrap_or_default().to_string_lossy();
        Label::new("file_name", normalized(&stem).into_owned())
    }

    fn with_action(self, action: &'static str) -> Vec<Label> {
        vec![self.path_tag(), Label::new("action", action)]
    }
}
