//! What happens next in a run: which instances are ready, which are settled without having run, which become
//! several, and whether the run is over.
//!
//! A [`Plan`] is what follows from the DAG alone; it is made once and shared. A [`Run`] is one run in memory. It is
//! [loaded](Run::load), told about every change from outside (an instance went to another state, something was
//! pushed, a branch was taken), and [examined](Run::examine). The [`Decision`] says what to write; the run has then
//! already moved on to it, so a caller that could not write it drops the run and loads it anew; one that found some rows in
//! another state than expected tells the run so.
//!
//! **Cost.** The examination after loading looks at everything. Later ones look at what the changes since then
//! can have an effect on. Counts are kept per waiting task, not per instance, and a count that cannot change a
//! judgement wakes no task: one finished task costs the same whatever the number of tasks in the run, and one of
//! ten thousand mapped instances does not wake the ten thousand that wait for all of them.
//!
//! **Order.** Instances are looked at by task id, as bytes, then by map index, and an examination sees as finished
//! what was finished when it began. So what follows from a failure moves on one task per examination, as in
//! Airflow, and two runs in the same state are decided alike.
//!
//! Every judgement is also a value that people can read: [`Run::explain`] lists what an instance waits for.

mod counts;
mod decision;
mod evaluate;
mod examine;
mod expand;
mod explain;
mod instances;
mod integrity;
mod length;
mod plan;
mod relevance;
mod rule;
mod run;
mod setups;
mod work;

use jiff::{SignedDuration, Timestamp};

use crate::dag::TaskIndex;
use crate::state::TaskState;

pub use counts::{Counts, Upstream};
pub use decision::{Action, Decision, InstanceRef, RunVerdict, WhenReady};
pub use expand::MAX_INSTANCES;
pub use explain::{PastUnmet, Unmet, Waiting};
pub use integrity::{Reconciliation, first_instances, reconcile};
pub use length::Length;
pub use plan::Plan;
pub use rule::{Judgement, judge, judge_setups};
pub use run::Run;

/// What is known about a run as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The time that it is about.
    pub logical_date: Option<Timestamp>,
    /// When it was started.
    pub start_date: Option<Timestamp>,
    /// How long it may take.
    pub timeout: Option<SignedDuration>,
}

/// An instance of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Of which task.
    pub task: TaskIndex,
    /// Which one, of those of a mapped task.
    pub map_index: i32,
    /// Where it stands.
    pub state: Option<TaskState>,
    /// If it waits for a retry, the time that [must have passed](crate::retry::is_over):
    /// [`next_try`](crate::retry::next_try), or `None` if it is not known when the last try ended, as
    /// [that wait is over](crate::retry::is_due). If it asked to be looked at again, that time.
    pub due: Option<Timestamp>,
}

impl Instance {
    /// Which one it is.
    pub fn reference(&self) -> InstanceRef {
        InstanceRef { task: self.task, map_index: self.map_index }
    }
}

/// What instances of a task have pushed, to be mapped over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// The number of items that the instance without map index pushed.
    pub length: Option<u64>,
    /// How many instances with a map index pushed a result.
    pub results: u64,
}

/// What a branch, or the like, has decided about the tasks downstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skips {
    /// If given, all others are skipped.
    pub followed: Option<Box<[TaskIndex]>>,
    /// These are skipped.
    pub skipped: Box<[TaskIndex]>,
}

impl Skips {
    /// Whether a task is to be skipped.
    pub fn skips(&self, task: TaskIndex) -> bool {
        self.followed.as_ref().is_some_and(|followed| !followed.contains(&task))
            || self.skipped.contains(&task)
    }
}

/// The run before, for tasks that depend on their past.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// The time that it is about.
    pub logical_date: Option<Timestamp>,
    /// For each task, what became of it there.
    pub tasks: Vec<PastTask>,
}

/// What became of a task in the run before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PastTask {
    /// How many instances it had.
    pub instances: u32,
    /// How many of these have neither succeeded nor been skipped.
    pub unsuccessful: u32,
    /// Whether any earlier run has an instance of it.
    pub was_there_before: bool,
}
