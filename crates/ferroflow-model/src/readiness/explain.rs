//! What an unfinished instance waits for, in words.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::counts::{Counts, Upstream};
use super::run::Run;
use crate::dag::{Dag, TaskIndex, TriggerRule};
use crate::state::TaskState;

/// Something that keeps an instance from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// Its trigger rule is not met.
    TriggerRule {
        /// The rule.
        rule: TriggerRule,
        /// What became of those upstream.
        upstream: Upstream,
    },
    /// Setups further upstream have not all succeeded.
    Setups {
        /// What became of them.
        setups: Upstream,
    },
    /// It cleans up after tasks that are not all finished.
    TeardownScope {
        /// What became of them.
        scope: Upstream,
    },
    /// A task whose result it is mapped over ended without one.
    MappedOver {
        /// The task.
        task: TaskIndex,
        /// How it ended.
        state: TaskState,
    },
    /// A branch was taken that leaves it out.
    SkippedBy {
        /// The task that took it.
        task: TaskIndex,
    },
    /// It depends on the run before.
    Past(PastUnmet),
    /// Its next try is not due before this time.
    RetryDue(Timestamp),
    /// It asked to be looked at again at this time.
    RescheduleDue(Timestamp),
    /// Its run is about a time that has not come yet.
    RunNotBefore(Timestamp),
}

/// In which way the run before keeps a task from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastUnmet {
    /// The task has no instance there.
    NotThere,
    /// Its instances there have not all succeeded.
    Unsuccessful {
        /// How many have not.
        instances: u32,
    },
    /// Instances of what is directly downstream there have not all succeeded.
    Downstream {
        /// The first such task.
        task: TaskIndex,
    },
}

/// Why an instance is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// It waits for these.
    For(Vec<Unmet>),
    /// Nothing keeps it from being scheduled: the next examination does so, unless its DAG is paused.
    ToBeScheduled,
    /// It is past that: this is where it stands.
    OnItsWay(TaskState),
}

impl Run {
    /// Why an instance is not finished. There is no answer for one that is, or does not exist.
    pub fn explain(&self, task: TaskIndex, map_index: i32, now: Timestamp) -> Option<Waiting> {
        let cell =
            self.tasks[task.position()].instances.get(map_index).filter(|cell| cell.is_unfinished())?;
        if let Some(state) = cell.state.filter(|_| !cell.is_candidate()) {
            return Some(Waiting::OnItsWay(state));
        }
        let mut unmet = Vec::new();
        self.verdict(task, map_index, |reason| unmet.push(reason));
        if let Some(due) = cell.due.filter(|_| self.blocked_until(task, cell, now).is_some()) {
            let is_retry = cell.state == Some(TaskState::UpForRetry);
            unmet.push(if is_retry { Unmet::RetryDue(due) } else { Unmet::RescheduleDue(due) });
        }
        unmet.extend(self.facts.logical_date.filter(|date| *date > now).map(Unmet::RunNotBefore));
        Some(if unmet.is_empty() { Waiting::ToBeScheduled } else { Waiting::For(unmet) })
    }
}

impl Unmet {
    /// In words.
    pub fn describe(&self, dag: &Dag) -> String {
        match self {
            Self::TriggerRule { rule, upstream } => {
                format!("the trigger rule {rule} is not met: {}", described(upstream, "upstream"))
            }
            Self::Setups { setups } => {
                format!("every setup further upstream has to succeed: {}", described(setups, "of these"))
            }
            Self::TeardownScope { scope } => {
                format!("what it cleans up after has to be finished: {}", described(scope, "of that"))
            }
            Self::MappedOver { task, state } => {
                format!("it is mapped over the result of {}, which is {state}", dag[*task].task_id)
            }
            Self::SkippedBy { task } => {
                format!("{} took a branch that leaves it out", dag[*task].task_id)
            }
            Self::Past(PastUnmet::NotThere) => {
                "it depends on its past, and the run before has no instance of it".to_owned()
            }
            Self::Past(PastUnmet::Unsuccessful { instances }) => format!(
                "it depends on its past, and {instances} of its instances in the run before have not succeeded"
            ),
            Self::Past(PastUnmet::Downstream { task }) => format!(
                "it waits for what is downstream in the run before, and {} there has not succeeded",
                dag[*task].task_id
            ),
            Self::RetryDue(due) => format!("its next try is not due before {due}"),
            Self::RescheduleDue(due) => format!("it asked to be looked at again at {due}"),
            Self::RunNotBefore(date) => format!("its run is about {date}, which has not come yet"),
        }
    }
}

fn described(upstream: &Upstream, which: &str) -> String {
    let Counts { success, skipped, failed, upstream_failed, removed } = upstream.counts;
    let mut text = format!("{} of {} {which} are finished", upstream.counts.done(), upstream.expected);
    let kinds = [
        (success, "succeeded"),
        (skipped, "skipped"),
        (failed, "failed"),
        (upstream_failed, "upstream failed"),
        (removed, "removed"),
    ];
    for (place, (number, kind)) in kinds.into_iter().filter(|(number, _)| *number > 0).enumerate() {
        let separator = if place == 0 { " (" } else { ", " };
        let _ = write!(text, "{separator}{number} {kind}");
    }
    if upstream.counts.done() > 0 {
        text.push(')');
    }
    text
}
