//! What goes on at one moment.

use ferroflow_model::state::{RunState, TaskState};
use jiff::Timestamp;

/// What goes on at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// The moment.
    pub(super) now: Timestamp,
    /// Runs that have not ended, and those that have since the last look, by the order in which they were made.
    pub(super) runs: Vec<SeenRun>,
    /// How many task instances run.
    pub(super) running_tasks: usize,
    /// DAGs that get their next run soonest.
    pub(super) upcoming: Vec<(String, Timestamp)>,
    /// How many DAGs there are.
    pub(super) dags: usize,
    /// Those that are paused.
    pub(super) paused: Vec<String>,
    /// Files that cannot be imported, with the last line of what Python says.
    pub(super) broken: Vec<(String, String)>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenRun {
    pub(super) id: i64,
    pub(super) dag_id: String,
    pub(super) run_id: String,
    pub(super) state: RunState,
    pub(super) start: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
    /// How many of its task instances are in which state.
    pub(super) counts: Vec<(Option<TaskState>, usize)>,
    /// Those that are queued or run.
    pub(super) at_work: Vec<SeenTask>,
    /// Those that failed, if the run has.
    pub(super) failed: Vec<String>,
    /// Where the log of the first of these is.
    pub(super) log: Option<String>,
}

/// A task instance that is queued or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenTask {
    pub(super) name: String,
    pub(super) state: TaskState,
    pub(super) try_number: i32,
    pub(super) start: Option<Timestamp>,
}

/// Whether it is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Working,
    /// Nothing new begins, and what runs is waited for.
    Waiting,
    /// What runs is ended.
    Ending,
}

impl SeenRun {
    /// How many task instances are in one of the states that this is true of.
    pub(super) fn count(&self, is_meant: impl Fn(Option<TaskState>) -> bool) -> usize {
        self.counts.iter().filter(|(state, _)| is_meant(*state)).map(|(_, total)| total).sum()
    }
}

#[cfg(test)]
pub(super) mod examples {
    //! For tests of what is said about them.

    use jiff::ToSpan as _;

    use super::*;

    pub(in super::super) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    /// One run with a task that runs, one that waits for its second try, and DAGs that are due.
    pub(in super::super) fn snapshot() -> Snapshot {
        let mut sales = running("sales", 1);
        sales.counts = vec![
            (Some(TaskState::Running), 1),
            (Some(TaskState::Success), 1),
            (Some(TaskState::UpForRetry), 1),
            (None, 1),
        ];
        sales.at_work = vec![task("load", TaskState::Running, 2)];
        let due = [("branch", -1), ("hourly", 15 * 60 - 1), ("daily", 16 * 3600 + 5)];
        Snapshot {
            now: NOW,
            runs: vec![sales],
            running_tasks: 1,
            upcoming: due.map(|(dag_id, seconds)| (dag_id.to_owned(), NOW + seconds.seconds())).to_vec(),
            dags: 9,
            paused: vec!["mine".to_owned()],
            broken: Vec::new(),
        }
    }

    /// A run without tasks.
    pub(in super::super) fn running(dag_id: &str, id: i64) -> SeenRun {
        SeenRun {
            id,
            dag_id: dag_id.to_owned(),
            run_id: format!("run_{id}"),
            state: RunState::Running,
            start: Some(NOW - 10.seconds()),
            end: None,
            counts: Vec::new(),
            at_work: Vec::new(),
            failed: Vec::new(),
            log: None,
        }
    }

    /// A run that is over.
    pub(in super::super) fn ended(dag_id: &str, id: i64, state: RunState) -> SeenRun {
        SeenRun { state, end: Some(NOW - 1.second()), ..running(dag_id, id) }
    }

    /// A task at work.
    pub(in super::super) fn task(name: &str, state: TaskState, try_number: i32) -> SeenTask {
        SeenTask { name: name.to_owned(), state, try_number, start: Some(NOW - 5.seconds()) }
    }
}
