//! The steps of a cycle, and what they did.

use ferroflow_db::BadRow;

use crate::chores::Report;
use crate::create_runs::CreatedRuns;
use crate::dispatch::Dispatched;
use crate::examine_runs::ExaminedRuns;
use crate::queue_tasks::QueuedTasks;
use crate::start_runs::StartedRuns;

/// A part of a cycle. Each leaves the database as others may find it, and the scheduler may end after any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// What executors told meets the rows.
    ExecutorEvents,
    /// What no event has told is looked for.
    Rescan,
    /// Runs that are due are made.
    CreateRuns,
    /// Runs that may start do.
    StartRuns,
    /// Runs that something has happened to are examined.
    ExamineRuns,
    /// One pass through the critical section.
    QueueTasks,
    /// What it queued goes to executors.
    HandOver,
    /// Chores that are due.
    Chores,
}

impl Step {
    /// What the log calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ExecutorEvents => "ExecutorEvents",
            Self::Rescan => "Rescan",
            Self::CreateRuns => "CreateRuns",
            Self::StartRuns => "StartRuns",
            Self::ExamineRuns => "ExamineRuns",
            Self::QueueTasks => "QueueTasks",
            Self::HandOver => "HandOver",
            Self::Chores => "Chores",
        }
    }
}

/// What a cycle did: for metrics, logs and tests.
#[derive(Debug, Default)]
pub struct CycleReport {
    /// Runs that were made.
    pub created: CreatedRuns,
    /// Runs that were started.
    pub started: StartedRuns,
    /// Runs that were examined.
    pub examined: ExaminedRuns,
    /// What each pass through the critical section did.
    pub passes: Vec<QueuedTasks>,
    /// What was handed to executors.
    pub dispatched: Vec<Dispatched>,
    /// The chores that were done.
    pub(crate) chores: Vec<(&'static str, Box<dyn Report>)>,
    /// Rows that were found for the first time and cannot be read: each was left out.
    pub unreadable: Vec<BadRow>,
}

impl CycleReport {
    /// Whether anything was queued.
    pub(crate) fn has_queued(&self) -> bool {
        self.passes.iter().any(|pass| !pass.queued.is_empty())
    }
}

impl Step {
    /// What follows.
    pub(super) fn next(self) -> Option<Self> {
        match self {
            Self::ExecutorEvents => Some(Self::Rescan),
            Self::Rescan => Some(Self::CreateRuns),
            Self::CreateRuns => Some(Self::StartRuns),
            Self::StartRuns => Some(Self::ExamineRuns),
            Self::ExamineRuns => Some(Self::QueueTasks),
            Self::QueueTasks => Some(Self::HandOver),
            Self::HandOver => Some(Self::Chores),
            Self::Chores => None,
        }
    }

    /// What is done although this step has failed.
    pub(super) fn after_failure(self) -> Option<Self> {
        match self {
            // What an earlier pass has queued is handed over already.
            Self::QueueTasks => Some(Self::Chores),
            step => step.next(),
        }
    }
}
