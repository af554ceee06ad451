//! The states of task instances.

use std::fmt;

use super::states::States;
use crate::state::TaskState::{
    self, AwaitingInput, Deferred, Failed, Queued, Removed, Restarting, Running, Scheduled, Skipped, Success,
    UpForReschedule, UpForRetry, UpstreamFailed,
};

/// The state after an event.
pub fn next_task_state(from: Option<TaskState>, event: TaskEvent) -> Result<Option<TaskState>, TaskRefused> {
    if event.leaves().contains(from) { Ok(event.leads_to()) } else { Err(TaskRefused { from, event }) }
}

/// An event that does not happen to a task instance in that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRefused {
    /// The state.
    pub from: Option<TaskState>,
    /// The event.
    pub event: TaskEvent,
}

impl std::error::Error for TaskRefused {}

impl fmt::Display for TaskRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |state: Option<TaskState>| state.map_or("none", TaskState::as_str);
        let allowed: Vec<&str> = self.event.leaves().iter().map(name).collect();
        let (what, from) = (self.event.what(), name(self.from));
        if self.from == self.event.leads_to() {
            write!(f, "{what:?} changes nothing: the state is {from:?} already")
        } else {
            write!(f, "{what:?} needs the state {}, and this is {from:?}", allowed.join(" or "))
        }
    }
}

/// Who brings an event about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The scheduler, by looking at a run.
    Scheduler,
    /// The scheduler, because an executor, a heartbeat or a clock says so.
    Watch,
    /// The worker, by the Execution API.
    Worker,
    /// The triggerer.
    Triggerer,
    /// A person, or a program in the name of one.
    Person,
}

impl Actor {
    /// As a page calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Watch => "scheduler, watching",
            Self::Worker => "worker",
            Self::Triggerer => "triggerer",
            Self::Person => "person",
        }
    }
}

macro_rules! of {
    ($($state:ident),*) => { States::of(&[$(Some($state)),*]) };
}

macro_rules! events {
    ($($actor:ident { $($event:ident = $what:literal, $from:expr => $to:expr;)* })*) => {
        /// Something that happens to a task instance.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TaskEvent { $($(#[doc = $what] $event,)*)* }

        impl TaskEvent {
            /// Every one of them.
            pub const ALL: &[Self] = &[$($(Self::$event),*),*];

            /// What it is, in a few words.
            pub const fn what(self) -> &'static str {
                match self { $($(Self::$event => $what,)*)* }
            }

            /// Who brings it about.
            pub const fn actor(self) -> Actor {
                match self { $($(Self::$event => Actor::$actor,)*)* }
            }

            /// The states in which it happens.
            pub const fn leaves(self) -> States {
                match self { $($(Self::$event => $from,)*)* }
            }

            /// The state that it leads to.
            pub const fn leads_to(self) -> Option<TaskState> {
                match self { $($(Self::$event => $to,)*)* }
            }
        }
    };
}

events! {
    Scheduler {
        DependenciesMet = "all that it depends on allows it to run", SCHEDULABLE => Some(Scheduled);
        NothingToRun = "it may run and does nothing, which needs no worker", SCHEDULABLE => Some(Success);
        StartedFromTrigger = "it may run and starts by waiting for its trigger", SCHEDULABLE => Some(Deferred);
        UpstreamFailed = "what it depends on failed", NOT_PUT_OFF => Some(UpstreamFailed);
        UpstreamSkipped = "what it depends on was skipped", NOT_PUT_OFF => Some(Skipped);
        ExpandedToNothing = "it is mapped over nothing", SCHEDULABLE => Some(Skipped);
        CannotExpand = "what it is mapped over never came to be", SCHEDULABLE => Some(UpstreamFailed);
        Removed = "the DAG has it no more", States::all_but(&[Removed]) => Some(Removed);
        Restored = "the DAG has it again", of![Removed] => None;
        Admitted = "it got a slot and goes to an executor", of![Scheduled] => Some(Queued);
        DagGone = "it got a slot, and its DAG is gone", of![Scheduled] => Some(Failed);
        RunOver = "it got a slot, and its run is over", of![Queued] => None;
        RunTimedOut = "its run took too long", UNFINISHED => Some(Skipped);
    }
    Watch {
        GoneWithTriesLeft = "it ended without a word, and is tried again", HANDED_OUT => Some(UpForRetry);
        GoneForGood = "it ended without a word, and has no tries left", NOT_CLEARED => Some(Failed);
        GoneAndRestarted = "it was cleared while it ran, and has ended", of![Restarting] => None;
        UnknownSucceeded = "it ended well without a word, and its task is gone", HANDED_OUT => Some(Success);
        UnknownFailed = "it ended badly without a word, and its task is gone", HANDED_OUT => Some(Failed);
        UnknownRestarted = "its executor starts it over, and its task is gone", NOT_CLEARED => Some(Restarting);
        StuckInQueue = "it was queued for too long, and is queued again", of![Queued] => Some(Scheduled);
        StuckTooOften = "it was queued for too long too often", of![Queued] => Some(Failed);
        Orphaned = "its scheduler is gone, and no executor has it", ADOPTABLE => None;
        TriggerTimedOut = "its trigger took too long", of![Deferred] => Some(Scheduled);
        InputTimedOut = "no answer came in time", of![AwaitingInput] => Some(Scheduled);
        FailedFast = "another task failed, and it runs", of![Running] => Some(Failed);
        SkippedFast = "another task failed, and it does not run", NEITHER_RUNS_NOR_ENDED => Some(Skipped);
    }
    Worker {
        Started = "it starts", of![Queued, Restarting] => Some(Running);
        Heartbeat = "it lives", of![Running] => Some(Running);
        Succeeded = "it succeeded", of![Running] => Some(Success);
        FailedWithTriesLeft = "it failed, and is tried again", of![Running] => Some(UpForRetry);
        FailedForGood = "it failed for good", of![Running] => Some(Failed);
        SkippedItself = "it skips itself", of![Running] => Some(Skipped);
        Rescheduled = "it wants to be looked at again later", of![Running] => Some(UpForReschedule);
        PutOff = "it waits for a trigger", of![Running] => Some(Deferred);
        AsksForInput = "it asks a person", of![Running] => Some(AwaitingInput);
        AnsweredAlready = "it asks a person who has answered already", of![Running] => Some(Scheduled);
        SkippedByBranch = "a task before it chose another branch", NEITHER_RUNS_NOR_ENDED => Some(Skipped);
    }
    Triggerer {
        TriggerFired = "its trigger fired", of![Deferred] => Some(Scheduled);
        TriggerBroke = "its trigger broke", of![Deferred] => Some(Scheduled);
        TriggerSucceeded = "its trigger says that it succeeded", of![Deferred] => Some(Success);
        TriggerSkipped = "its trigger says that it is skipped", of![Deferred] => Some(Skipped);
        TriggerFailedWithTriesLeft = "its trigger says that it failed, and it is tried again",
            of![Deferred] => Some(UpForRetry);
        TriggerFailedForGood = "its trigger says that it failed for good", of![Deferred] => Some(Failed);
    }
    Person {
        Answered = "a person answered", of![AwaitingInput, Deferred] => Some(Scheduled);
        Cleared = "it is cleared", States::all_but(&[Running]) => None;
        ClearedWhileRunning = "it is cleared while it runs", of![Running] => Some(Restarting);
        MarkedSuccess = "it is marked as success", States::all_but(&[Success]) => Some(Success);
        MarkedFailed = "it is marked as failed", States::all_but(&[Failed]) => Some(Failed);
        MarkedSkipped = "it is marked as skipped", States::all_but(&[Skipped]) => Some(Skipped);
        RunMarkedSuccess = "its run is marked as success, and it was under way", UNDER_WAY => Some(Success);
        RunMarkedFailed = "its run is marked as failed, and it was under way", UNDER_WAY => Some(Failed);
        RunMarked = "its run is marked, and it was not under way", NOT_UNDER_WAY => Some(Skipped);
    }
}

const SCHEDULABLE: States = States::of(&[None, Some(UpForRetry), Some(UpForReschedule)]);
const UNFINISHED: States = States::all_but(&[Success, Failed, Skipped, UpstreamFailed, Removed]);
/// What a person's mark on a task before it can still overtake: where nothing else in the run can go on, Airflow asks
/// the rules about all of these, even about one that runs.
const NOT_PUT_OFF: States = States::of(&[
    None,
    Some(UpForRetry),
    Some(UpForReschedule),
    Some(Scheduled),
    Some(Queued),
    Some(Running),
    Some(Restarting),
]);
const ADOPTABLE: States = of![Queued, Running, Restarting];
/// What an executor has, or may have.
const HANDED_OUT: States = of![Scheduled, Queued, Running, Restarting];
/// The same without what was cleared, which is always tried again.
const NOT_CLEARED: States = of![Scheduled, Queued, Running];
/// What a mark on its run ends as the run.
const UNDER_WAY: States = of![Running, UpForReschedule, Deferred, AwaitingInput];
/// What a mark on its run passes over.
const NOT_UNDER_WAY: States =
    States::of(&[None, Some(Scheduled), Some(Queued), Some(Restarting), Some(UpForRetry)]);
/// What can be passed over, even if it was not to run anyway.
const NEITHER_RUNS_NOR_ENDED: States = States::all_but(&[Running, Success, Failed, Skipped]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{is_schedulable, is_unfinished};

    fn assert_set(states: States, is_in: impl Fn(Option<TaskState>) -> bool) {
        let expected: Vec<_> = States::EVERY.iter().filter(|state| is_in(*state)).collect();
        assert_eq!(states.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_sets_are_those_beside_the_states() {
        assert_eq!(States::EVERY.iter().count(), TaskState::ALL.len() + 1);
        assert_set(SCHEDULABLE, is_schedulable);
        assert_set(UNFINISHED, is_unfinished);
        assert_set(ADOPTABLE, |state| state.is_some_and(TaskState::is_adoptable));
        let put_off = of![Deferred, AwaitingInput];
        assert_set(NOT_PUT_OFF, |state| UNFINISHED.contains(state) && !put_off.contains(state));
        let marked = |state| UNDER_WAY.contains(state) != NOT_UNDER_WAY.contains(state);
        assert_set(UNFINISHED, marked);
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        let refused = next_task_state(Some(Deferred), TaskEvent::Started).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#""it starts" needs the state queued or restarting, and this is "deferred""#
        );
        let refused = next_task_state(Some(Success), TaskEvent::MarkedSuccess).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#""it is marked as success" changes nothing: the state is "success" already"#
        );
        let refused = next_task_state(None, TaskEvent::Restored).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#""the DAG has it again" changes nothing: the state is "none" already"#
        );
    }

    /// Invariants I1 and I2: the second to come finds that it came second.
    #[test]
    fn nothing_that_starts_or_ends_a_try_happens_twice() {
        for event in TaskEvent::ALL.iter().filter(|event| **event != TaskEvent::Heartbeat) {
            let again = event.leaves().contains(event.leads_to());
            assert_eq!(again, *event == TaskEvent::Cleared, "{event:?}");
        }
    }

    #[test]
    fn what_has_ended_is_changed_only_by_a_person_or_by_a_change_of_the_dag() {
        let ends: Vec<_> = TaskState::ALL.iter().filter(|state| matches!(state, Success | Failed)).collect();
        for end in ends {
            for event in TaskEvent::ALL.iter().filter(|event| event.leaves().contains(Some(*end))) {
                assert!(event.actor() == Actor::Person || *event == TaskEvent::Removed, "{event:?} of {end}");
            }
        }
    }

    #[test]
    fn every_state_can_be_reached_and_every_unfinished_one_left() {
        for state in States::EVERY.iter() {
            assert!(TaskEvent::ALL.iter().any(|event| event.leads_to() == state), "{state:?}");
        }
        for state in UNFINISHED.iter() {
            let is_left =
                |event: &&TaskEvent| event.actor() != Actor::Person && event.leaves().contains(state);
            assert!(
                TaskEvent::ALL.iter().any(|event| is_left(&event) && event.leads_to() != state),
                "{state:?}"
            );
        }
    }
}
