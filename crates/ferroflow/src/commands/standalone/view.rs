//! What goes on, in a few lines: what runs, what is next, how much there is.

use std::fmt::Write as _;
use std::path::Path;

use ferroflow_model::state::{RunState, TaskState};
use jiff::{SignedDuration, Timestamp};

use super::snapshot::{Phase, SeenRun, SeenTask, Snapshot};
use crate::output::Text;

/// How many runs have a line, and how many tasks are named in it.
const MAX_RUNS: usize = 6;
const MAX_TASKS: usize = 4;

/// The lines that change.
pub(super) fn block(seen: &Snapshot, phase: Phase) -> Vec<Text> {
    let unfinished: Vec<&SeenRun> = seen.runs.iter().filter(|run| !run.state.is_finished()).collect();
    let (running, queued): (Vec<_>, Vec<_>) =
        unfinished.into_iter().partition(|run| run.state == RunState::Running);
    let mut lines = vec![Text::new()];
    for (number, run) in running.iter().take(MAX_RUNS).enumerate() {
        let label = if number == 0 { "running   " } else { "          " };
        lines.push(run_line(Text::new().faint(label), run, seen.now));
    }
    let not_shown = running.len().saturating_sub(MAX_RUNS);
    match (running.is_empty(), not_shown + queued.len()) {
        (true, 0) => lines.push(Text::new().faint("running   ").plain("nothing")),
        (_, 0) => {}
        (true, waiting) => lines.push(Text::new().faint("waiting   ").plain(&runs(waiting))),
        (false, more) => {
            lines.push(Text::new().faint("          ").plain(&format!("and {} more", runs(more))));
        }
    }
    lines.push(Text::new().faint("next      ").plain(&next(seen)));
    lines.push(status(seen, phase));
    lines
}

/// A line for the moment when somebody has asked for the end.
pub(super) fn phase_begins(before: Phase, now: Phase, seen: &Snapshot) -> Option<Text> {
    let running = tasks(seen.running_tasks);
    let text = match now {
        _ if now == before => return None,
        Phase::Working => return None,
        Phase::Waiting if seen.running_tasks == 0 => "stopping".to_owned(),
        Phase::Waiting => format!("stopping: nothing new begins; waiting for {running}, once more ends them"),
        Phase::Ending => format!("ending {running}"),
    };
    Some(Text::new().plain(&text))
}

/// What is shown while the database does not answer.
pub(super) fn trouble(log_file: &Path) -> Vec<Text> {
    vec![Text::new().bad("the database does not answer").plain(&format!("; see {}", log_file.display()))]
}

/// The last lines. `ended` is how many runs have ended well and badly.
pub(super) fn farewell(seen: &Snapshot, (good, bad): (usize, usize)) -> Vec<Text> {
    let left = seen.runs.iter().filter(|run| !run.state.is_finished()).count();
    let mut text = format!("stopped; {} succeeded, {bad} failed", runs(good));
    if left > 0 {
        let _ = write!(text, ", {} not ended: they go on at the next start", runs(left));
    }
    vec![Text::new().plain(&text)]
}

/// `2 s`, `5 min`, `3 h`, `2 d`
pub(super) fn roughly(duration: SignedDuration) -> String {
    match duration.as_secs().max(0) {
        seconds @ ..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds / 60),
        seconds @ 6000..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

fn run_line(text: Text, run: &SeenRun, now: Timestamp) -> Text {
    let total = run.count(|_| true);
    let done = run.count(|state| state.is_some_and(TaskState::is_finished));
    let text = text.busy(&run.dag_id).plain(&format!("  {done} of {}", tasks(total)));
    let mut named: Vec<String> = run.at_work.iter().take(MAX_TASKS).map(|task| at_work(task, now)).collect();
    let more = run.at_work.len().saturating_sub(MAX_TASKS);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let retries = run.count(|state| state == Some(TaskState::UpForRetry));
    if retries > 0 {
        named.push(format!("{} to be tried again", tasks(retries)));
    }
    let deferred = run.count(|state| state == Some(TaskState::Deferred));
    if deferred > 0 {
        named.push(format!("{} deferred: a triggerer is needed", tasks(deferred)));
    }
    if named.is_empty() { text } else { text.plain(&format!("  {}", named.join(", "))) }
}

fn at_work(task: &SeenTask, now: Timestamp) -> String {
    let mut text = task.name.clone();
    if task.try_number > 1 {
        let _ = write!(text, ", try {}", task.try_number);
    }
    match task.start.filter(|_| task.state != TaskState::Queued) {
        Some(start) => format!("{text} ({})", roughly(now.duration_since(start))),
        None => format!("{text} ({})", task.state),
    }
}

fn next(seen: &Snapshot) -> String {
    let dags: Vec<String> = seen
        .upcoming
        .iter()
        .map(|(dag_id, at)| {
            let wait = at.duration_since(seen.now);
            if wait.is_positive() {
                format!("{dag_id} in {}", roughly(wait))
            } else {
                format!("{dag_id} now")
            }
        })
        .collect();
    if dags.is_empty() { "nothing is scheduled".to_owned() } else { dags.join(", ") }
}

fn status(seen: &Snapshot, phase: Phase) -> Text {
    let text = Text::new().faint(&format!("{} DAGs, {} paused", seen.dags, seen.paused.len()));
    let text = match seen.broken.len() {
        0 => text,
        broken => text.faint(", ").bad(&format!("{broken} files cannot be imported")),
    };
    let running = tasks(seen.running_tasks);
    match phase {
        Phase::Working => text.faint("; Ctrl-C ends it"),
        Phase::Waiting | Phase::Ending if seen.running_tasks == 0 => text.faint("; ").busy("stopping"),
        Phase::Waiting => text.faint("; ").busy(&format!("waiting for {running}; Ctrl-C again ends them")),
        Phase::Ending => text.faint("; ").busy(&format!("ending {running}")),
    }
}

fn tasks(count: usize) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::standalone::snapshot::examples::{NOW, ended, running, snapshot, task};

    fn shown(seen: &Snapshot, phase: Phase) -> String {
        let lines: Vec<String> = block(seen, phase).iter().map(|line| line.painted(None, false)).collect();
        lines.join("\n")
    }

    #[test]
    fn nothing_goes_on() {
        assert_eq!(
            shown(&Snapshot::default(), Phase::Working),
            "\nrunning   nothing\nnext      nothing is scheduled\n0 DAGs, 0 paused; Ctrl-C ends it"
        );
    }

    #[test]
    fn runs_tasks_and_what_is_next() {
        let mut seen = snapshot();
        let mut mapped = running("mapped", 2);
        mapped.counts = vec![(Some(TaskState::Running), 7), (Some(TaskState::Success), 3), (None, 1)];
        mapped.at_work = (0..7).map(|index| task(&format!("each[{index}]"), TaskState::Running, 1)).collect();
        seen.runs.extend([mapped, ended("over", 3, RunState::Success)]);
        seen.broken = vec![("mine.py".to_owned(), "NameError".to_owned())];
        assert_eq!(
            shown(&seen, Phase::Working),
            "\nrunning   sales  1 of 4 tasks  load, try 2 (5 s), 1 task to be tried again\n          \
             mapped  3 of 11 tasks  each[0] (5 s), each[1] (5 s), each[2] (5 s), each[3] (5 s), 3 more\n\
             next      branch now, hourly in 14 min, daily in 16 h\n\
             9 DAGs, 1 paused, 1 files cannot be imported; Ctrl-C ends it"
        );
    }

    #[test]
    fn many_runs_take_few_lines() {
        let mut seen = Snapshot { now: NOW, ..Snapshot::default() };
        seen.runs = (0..9).map(|id| running("many", id)).collect();
        let lines = block(&seen, Phase::Working).len();
        assert!(shown(&seen, Phase::Working).contains("          and 3 runs more"), "{lines}");
        assert_eq!(lines, 1 + MAX_RUNS + 3);
        seen.runs.iter_mut().for_each(|run| run.state = RunState::Queued);
        assert!(shown(&seen, Phase::Working).contains("waiting   9 runs"));
    }

    #[test]
    fn the_end_is_told() {
        let mut seen = snapshot();
        let last = |seen: &Snapshot, phase| shown(seen, phase).lines().last().unwrap().to_owned();
        assert_eq!(
            last(&seen, Phase::Waiting),
            "9 DAGs, 1 paused; waiting for 1 task; Ctrl-C again ends them"
        );
        assert_eq!(last(&seen, Phase::Ending), "9 DAGs, 1 paused; ending 1 task");
        let begins = |before, now, seen: &Snapshot| {
            phase_begins(before, now, seen).map(|text| text.painted(None, false))
        };
        assert_eq!(begins(Phase::Working, Phase::Working, &seen), None);
        let waiting = begins(Phase::Working, Phase::Waiting, &seen);
        let expected = "stopping: nothing new begins; waiting for 1 task, once more ends them";
        assert_eq!(waiting.as_deref(), Some(expected));
        assert_eq!(begins(Phase::Waiting, Phase::Ending, &seen).as_deref(), Some("ending 1 task"));
        seen.running_tasks = 0;
        assert_eq!(last(&seen, Phase::Waiting), "9 DAGs, 1 paused; stopping");
        assert_eq!(begins(Phase::Working, Phase::Waiting, &seen).as_deref(), Some("stopping"));
        let said = |ended| farewell(&seen, ended)[0].painted(None, false);
        assert_eq!(
            said((5, 1)),
            "stopped; 5 runs succeeded, 1 failed, 1 run not ended: they go on at the next start"
        );
        seen.runs.clear();
        assert_eq!(farewell(&seen, (1, 0))[0].painted(None, false), "stopped; 1 run succeeded, 0 failed");
    }

    #[test]
    fn times_are_rough() {
        let said = |seconds| roughly(SignedDuration::from_secs(seconds));
        assert_eq!(
            [-3, 0, 99, 100, 5999, 6000, 172_800].map(said),
            ["0 s", "0 s", "99 s", "1 min", "99 min", "1 h", "2 d"]
        );
    }
}
