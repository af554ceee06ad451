//! What has happened between two looks, a line each.

use std::fmt::Write as _;

use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;

use super::snapshot::{SeenRun, Snapshot};
use crate::output::Text;

/// How many DAGs or files of one kind are named at a time.
const MAX_NAMES: usize = 5;

/// The lines. That a run has started is told where that is not shown anyway.
pub(super) fn happenings(before: &Snapshot, after: &Snapshot, is_live: bool) -> Vec<Text> {
    let mut lines = broken_files(before, after);
    lines.extend(paused_dags(before, after));
    for run in &after.runs {
        if run.state.is_finished() {
            lines.extend(ended(run, after.now));
        } else if !is_live && run.state == RunState::Running && !was_running(before, run) {
            let line = at(run.start, after.now).busy("started  ");
            lines.push(line.plain(&format!("{} {}", run.dag_id, run.run_id)));
        }
    }
    lines
}

/// A file that cannot be imported, with the last thing that Python says of it.
fn broken_files(before: &Snapshot, after: &Snapshot) -> Vec<Text> {
    let new: Vec<_> = after.broken.iter().filter(|file| !before.broken.contains(file)).collect();
    let line = |(file, problem): &&(String, String)| {
        at(None, after.now).bad("broken   ").plain(&format!("{file}: {problem}"))
    };
    let mut lines: Vec<Text> = new.iter().take(MAX_NAMES).map(line).collect();
    if !lines.is_empty() {
        let hint =
            "          `ferroflow dags list-import-errors` tells all; a corrected file is tried at once";
        lines.push(Text::new().faint(hint));
    }
    lines
}

/// Airflow pauses new DAGs. Whoever has just written one wonders.
fn paused_dags(before: &Snapshot, after: &Snapshot) -> Option<Text> {
    let new: Vec<&str> =
        after.paused.iter().filter(|dag| !before.paused.contains(dag)).map(String::as_str).collect();
    let first = new.first()?;
    let mut names = new.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
    if new.len() > MAX_NAMES {
        let _ = write!(names, " and {} more", new.len() - MAX_NAMES);
    }
    let line = at(None, after.now).busy("paused   ").plain(&names);
    Some(line.faint(&format!("; to let one run: ferroflow dags unpause {first}")))
}

fn ended(run: &SeenRun, now: Timestamp) -> Vec<Text> {
    let line = at(run.end, now);
    let line = match run.state {
        RunState::Failed => line.bad("failed   "),
        state => line.good(&format!("{state:<9}", state = state.as_str())),
    };
    let mut lines = vec![line.plain(&format!("{} {}", run.dag_id, run.run_id)).faint(&summary(run))];
    if !run.failed.is_empty() {
        let log = run.log.as_ref().map(|log| format!("; its log: {log}")).unwrap_or_default();
        let names = run.failed.join(", ");
        lines.push(Text::new().faint("          ").bad(&names).plain(" failed").faint(&log));
    }
    lines
}

/// `  5 tasks, 1 skipped, in 2.3 s`
fn summary(run: &SeenRun) -> String {
    let total = run.count(|_| true);
    let mut text = format!("  {total} {}", if total == 1 { "task" } else { "tasks" });
    for state in [TaskState::Skipped, TaskState::UpstreamFailed] {
        let count = run.count(|other| other == Some(state));
        if count > 0 {
            let _ = write!(text, ", {count} {state}");
        }
    }
    if let (Some(start), Some(end)) = (run.start, run.end) {
        let _ = write!(text, ", in {:.1} s", end.duration_since(start).as_secs_f64().max(0.0));
    }
    text
}

fn was_running(before: &Snapshot, run: &SeenRun) -> bool {
    before.runs.iter().any(|other| other.id == run.id && other.state == RunState::Running)
}

/// The time of day at which it happened.
fn at(time: Option<Timestamp>, now: Timestamp) -> Text {
    Text::new().faint(&time.unwrap_or(now).strftime("%H:%M:%S  ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::standalone::snapshot::examples::{NOW, ended, running, snapshot};

    fn told(before: &Snapshot, after: &Snapshot, is_live: bool) -> Vec<String> {
        happenings(before, after, is_live).iter().map(|line| line.painted(None, false)).collect()
    }

    #[test]
    fn nothing_has_happened() {
        assert_eq!(told(&snapshot(), &snapshot(), false), [""; 0]);
    }

    #[test]
    fn runs_start_and_end() {
        let before = Snapshot { now: NOW, ..Snapshot::default() };
        let mut failed = ended("bad", 3, RunState::Failed);
        failed.counts = vec![(Some(TaskState::Failed), 1), (Some(TaskState::UpstreamFailed), 2)];
        failed.failed = vec!["check".to_owned()];
        failed.log = Some("/logs/check.log".to_owned());
        let mut good = ended("good", 2, RunState::Success);
        good.counts = vec![(Some(TaskState::Success), 1)];
        let after = Snapshot { runs: vec![running("new", 1), good, failed], ..before.clone() };
        let ends = [
            "07:59:59  success  good run_2  1 task, in 9.0 s",
            "07:59:59  failed   bad run_3  3 tasks, 2 upstream_failed, in 9.0 s",
            "          check failed; its log: /logs/check.log",
        ];
        assert_eq!(told(&before, &after, true), ends);
        assert_eq!(told(&before, &after, false)[0], "07:59:50  started  new run_1");
        assert_eq!(
            told(&after, &Snapshot { runs: vec![running("new", 1)], ..after.clone() }, false),
            [""; 0]
        );
    }

    #[test]
    fn new_files_are_explained() {
        let before = Snapshot { now: NOW, ..Snapshot::default() };
        let mut after = before.clone();
        after.paused = (0..7).map(|number| format!("dag_{number}")).collect();
        after.broken = vec![("mine.py".to_owned(), "NameError: name 'x' is not defined".to_owned())];
        assert_eq!(
            told(&before, &after, true),
            [
                "08:00:00  broken   mine.py: NameError: name 'x' is not defined",
                "          `ferroflow dags list-import-errors` tells all; a corrected file is tried at once",
                "08:00:00  paused   dag_0, dag_1, dag_2, dag_3, dag_4 and 2 more; to let one run: ferroflow dags \
                 unpause dag_0",
            ]
        );
    }
}
