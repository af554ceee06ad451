use super::*;
use crate::state_machine::{TaskEvent, next_task_state};

const TASK: EventTask = EventTask { retries: 1, fail_fast: false };

fn every_state() -> impl Iterator<Item = Option<TaskState>> + Clone {
    std::iter::once(None).chain(TaskState::ALL.iter().copied().map(Some))
}

/// A row of this scheduler's, at its first try of two.
fn row(state: TaskState) -> EventRow {
    EventRow {
        state: Some(state),
        try_number: 1,
        max_tries: 1,
        is_queued_by_me: true,
        has_next_method: false,
    }
}

fn event(state: TaskState) -> ExecutorEvent {
    ExecutorEvent { state: Some(state), try_number: 1 }
}

#[test]
fn one_that_ended_without_a_word_is_tried_again_while_tries_are_left() {
    for end in [TaskState::Success, TaskState::Failed, TaskState::Restarting] {
        let outcome = |row| executor_event(event(end), row, false, Some(TASK));
        for state in [TaskState::Scheduled, TaskState::Queued, TaskState::Running] {
            let with_history = state == TaskState::Running;
            assert_eq!(outcome(row(state)), Outcome::Retried { with_history });
            let last = EventRow { max_tries: 0, ..row(state) };
            assert_eq!(outcome(last), Outcome::Failed { stops_the_rest: false });
        }
    }
}

#[test]
fn a_task_without_retries_fails_even_if_the_row_has_tries_left() {
    let task = EventTask { retries: 0, fail_fast: true };
    let outcome = executor_event(event(TaskState::Failed), row(TaskState::Running), false, Some(task));
    assert_eq!(outcome, Outcome::Failed { stops_the_rest: true });
}

#[test]
fn one_that_was_cleared_while_it_ran_starts_over() {
    let cleared = EventRow { try_number: i32::MAX, max_tries: 0, ..row(TaskState::Restarting) };
    let outcome = |end, task| {
        let event = ExecutorEvent { state: Some(end), try_number: i32::MAX };
        executor_event(event, cleared, false, Some(task))
    };
    assert_eq!(outcome(TaskState::Success, TASK), Outcome::Restarted { max_tries: i32::MAX });
    let never_again = EventTask { retries: 0, ..TASK };
    assert_eq!(outcome(TaskState::Failed, never_again), Outcome::Retried { with_history: false });
}

#[test]
fn an_id_is_recorded_for_its_own_try_only() {
    for state in every_state() {
        let row = EventRow { state, ..row(TaskState::Queued) };
        for accepted in [TaskState::Queued, TaskState::Running] {
            assert_eq!(executor_event(event(accepted), row, true, None), Outcome::IdRecorded);
            let next = EventRow { try_number: 2, ..row };
            let other = Ignored::OtherTry { event: 1, row: 2 };
            assert_eq!(executor_event(event(accepted), next, true, None), Outcome::Ignored(other));
        }
    }
}

#[test]
fn what_ended_before_a_trigger_fired_is_no_failure() {
    let resumed = EventRow { has_next_method: true, ..row(TaskState::Scheduled) };
    let outcome = |end, row| executor_event(event(end), row, false, Some(TASK));
    assert_eq!(outcome(TaskState::Success, resumed), Outcome::Ignored(Ignored::Resumed));
    let retried = |with_history| Outcome::Retried { with_history };
    assert_eq!(outcome(TaskState::Failed, resumed), retried(false));
    let running = EventRow { has_next_method: true, ..row(TaskState::Running) };
    assert_eq!(outcome(TaskState::Success, running), retried(true));
}

#[test]
fn reasons_can_be_read() {
    let told = |event, row, knows_it| match executor_event(event, row, knows_it, Some(TASK)) {
        Outcome::Ignored(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    };
    let (failed, running) = (event(TaskState::Failed), row(TaskState::Running));
    let of_another = EventRow { is_queued_by_me: false, ..running };
    let unknown = ExecutorEvent { state: None, ..failed };
    let resumed = EventRow { has_next_method: true, ..row(TaskState::Scheduled) };
    assert_eq!(told(unknown, running, true), r#"an executor does not decide that a task instance is "none""#);
    assert_eq!(told(failed, row(TaskState::Success), true), r#"the row says already that it is "success""#);
    assert_eq!(
        told(failed, EventRow { try_number: 2, ..running }, true),
        "it is about try 1, and this is try 2"
    );
    assert_eq!(told(failed, of_another, true), "another scheduler has queued it since");
    for end in [failed, event(TaskState::Success)] {
        assert_eq!(told(end, running, true), "the executor has it again");
    }
    assert_eq!(
        told(event(TaskState::Success), resumed, false),
        "it was put off and may go on already: what ended is the part before"
    );
}

/// Over all that can come together: every change of a state is one that the state machine knows, and of each try
/// at most one thing is told.
#[test]
fn every_outcome_is_a_step_of_the_state_machine() {
    let tasks = [None, Some(TASK), Some(EventTask { retries: 0, fail_fast: true })];
    for said in every_state() {
        for state in every_state() {
            for (task, max_tries) in tasks.into_iter().zip([0, 1, 0]) {
                let event = ExecutorEvent { state: said, try_number: 1 };
                let row = EventRow { state, max_tries, ..row(TaskState::Running) };
                let outcome = executor_event(event, row, false, task);
                let step = step(outcome);
                assert_eq!(step.is_some(), outcome.new_state().is_some());
                let Some(step) = step else { continue };
                assert_eq!(next_task_state(state, step).ok(), outcome.new_state(), "{said:?} of {state:?}");
            }
        }
    }
}

fn step(outcome: Outcome) -> Option<TaskEvent> {
    match outcome {
        Outcome::Ignored(_) | Outcome::IdRecorded => None,
        Outcome::StateTaken(TaskState::Success) => Some(TaskEvent::UnknownSucceeded),
        Outcome::StateTaken(TaskState::Failed) => Some(TaskEvent::UnknownFailed),
        Outcome::StateTaken(_) => Some(TaskEvent::UnknownRestarted),
        Outcome::Restarted { .. } => Some(TaskEvent::GoneAndRestarted),
        Outcome::Retried { .. } => Some(TaskEvent::GoneWithTriesLeft),
        Outcome::Failed { .. } => Some(TaskEvent::GoneForGood),
    }
}

#[test]
fn retries_are_told_as_retries_and_failures_as_failures() {
    assert_eq!(Outcome::Retried { with_history: true }.told_as(), Some(TaskState::UpForRetry));
    assert_eq!(Outcome::Restarted { max_tries: 1 }.told_as(), Some(TaskState::UpForRetry));
    assert_eq!(Outcome::Failed { stops_the_rest: true }.told_as(), Some(TaskState::Failed));
    assert_eq!(Outcome::StateTaken(TaskState::Failed).told_as(), None);
    assert_eq!(Outcome::IdRecorded.told_as(), None);
}
