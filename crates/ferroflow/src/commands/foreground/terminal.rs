//! What happens is told on standard error, line by line, with the task that it is about.

use std::io::{self, Write as _};
use std::sync::Arc;

use ferroflow_executor::{Echo, WorkloadInstance};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::TaskState;
use ferroflow_python::{Sink, Stream};
use ferroflow_scheduler::foreground_run::{RunUpdate, Watcher};
use ferroflow_scheduler::run::SeenInstance;
use serde_json::{Map, Value};

use super::log_lines::lines;
use crate::output::on_one_line;

/// Tells what happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal;

/// Tells a line. One that cannot be written is no reason to stop.
pub(crate) fn tell(line: &str) {
    drop(writeln!(io::stderr(), "{}", on_one_line(line)));
}

/// Where callbacks print to.
pub(crate) fn callback_sink() -> Arc<dyn Sink> {
    Arc::new(Callbacks)
}

/// A task instance waits for what is not here.
pub(crate) fn tell_waiting(name: &str, state: Option<TaskState>) {
    let what = match state {
        Some(TaskState::AwaitingInput) => "waits for a person to answer; goes on when that is stored",
        _ => "is deferred and waits for a triggerer: start one (`airflow triggerer`) if none runs",
    };
    tell(&format!("{name}  {what}"));
}

impl Echo for Terminal {
    fn record(&self, instance: &WorkloadInstance, record: &Map<String, Value>) {
        let name = name(&instance.task_id, instance.map_index);
        for line in lines(record) {
            tell(&format!("{name} | {line}"));
        }
    }
}

impl Watcher for Terminal {
    fn on_update(&mut self, update: &RunUpdate<'_>) {
        match update {
            RunUpdate::Started(one) => tell(&format!("{}  starts, try {}", seen_name(one), one.try_number)),
            RunUpdate::Ended(one) => tell(&format!("{}  {}", seen_name(one), ended(one))),
            RunUpdate::Settled(one) => {
                let state = one.state.map_or("none", TaskState::as_str);
                tell(&format!("{}  {state}, without having run", seen_name(one)));
            }
            RunUpdate::MarkedSuccess(one) => {
                tell(&format!("{}  counts as success: --mark-success-pattern", seen_name(one)));
            }
            RunUpdate::WaitsElsewhere(one) => tell_waiting(&seen_name(one), one.state),
            RunUpdate::NotStarted(one, reason) => {
                tell(&format!("{}  failed: could not be started: {reason}", seen_name(one)));
            }
            RunUpdate::Interrupted => tell("stopping: what runs is ended, and the run has failed"),
        }
    }
}

/// How an instance ended, and what comes next.
pub(super) fn ended(one: &SeenInstance) -> String {
    let state = one.state.map_or("none", TaskState::as_str);
    let took = duration(one).map(|seconds| format!(" after {seconds}")).unwrap_or_default();
    let next = match (one.state, one.due) {
        (Some(TaskState::UpForRetry), Some(due)) => format!(", next try after {}", due.strftime("%H:%M:%S")),
        (Some(TaskState::UpForReschedule), Some(due)) => {
            format!(", looks again at {}", due.strftime("%H:%M:%S"))
        }
        _ => String::new(),
    };
    format!("{state}{took}{next}")
}

/// How long the last try took.
pub(super) fn duration(one: &SeenInstance) -> Option<String> {
    let seconds = one.end_date?.duration_since(one.start_date?).as_secs_f64();
    Some(format!("{seconds:.2} s"))
}

fn seen_name(one: &SeenInstance) -> String {
    name(&one.key.task_id, one.key.map_index)
}

/// What people call a task instance.
pub(crate) fn name(task_id: &str, map_index: i32) -> String {
    if map_index == NOT_MAPPED { task_id.to_owned() } else { format!("{task_id}[{map_index}]") }
}

/// What callbacks print.
struct Callbacks;

impl Sink for Callbacks {
    fn line(&self, stream: Stream, line: &str) {
        let record = match stream {
            Stream::Log => serde_json::from_str::<Value>(line).ok(),
            Stream::Stdout | Stream::Stderr => None,
        };
        let told = match record.as_ref().and_then(Value::as_object) {
            Some(record) => lines(record),
            None => vec![line.to_owned()],
        };
        for line in told {
            tell(&format!("callback | {line}"));
        }
    }
}
