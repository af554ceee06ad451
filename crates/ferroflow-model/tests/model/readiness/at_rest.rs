//! When a run has to be looked at again, and when it has not.

use ferroflow_model::readiness::{Facts, Instance, Run, RunVerdict, WhenReady};
use ferroflow_model::state::TaskState;
use jiff::SignedDuration;
use serde_json::json;

use crate::readiness::sketch::{ByName as _, NOW, Sketch, beginning};

/// Looks at a run as often as it asks for it.
fn examined_while_needed(run: &mut Run) -> RunVerdict {
    let mut verdict = RunVerdict::Running;
    for _ in 0..10 {
        if !run.needs_examination(NOW) {
            return verdict;
        }
        verdict = run.decide().run;
    }
    panic!("it does not come to rest");
}

#[test]
fn a_run_asks_until_its_end_is_decided() {
    let mut run = Sketch::of("a").with("a", "_is_empty", json!(true)).run();
    assert_eq!(examined_while_needed(&mut run), RunVerdict::Success);

    let mut run = Sketch::of("a; b < a").run();
    assert_eq!(examined_while_needed(&mut run), RunVerdict::Running);
    run.go("a", TaskState::Failed);
    assert_eq!(examined_while_needed(&mut run), RunVerdict::TasksFailed);
}

#[test]
fn what_is_ready_while_the_dag_is_paused_does_not_ask() {
    let mut run = Sketch::of("a").run();
    run.examine(NOW, WhenReady::Leave);
    assert!(!run.needs_examination(NOW));
    assert_eq!(run.state_of("a"), None);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["a scheduled"]);
}

#[test]
fn the_end_of_its_time_does_not_ask_while_the_dag_is_paused() {
    let plan = Sketch::of("a").plan();
    let (start_date, timeout) = (Some(NOW), Some(SignedDuration::from_secs(1)));
    let facts = Facts { start_date, timeout, ..Facts::default() };
    let instances = beginning(plan.dag());
    let mut run = Run::load(plan, facts, None, instances);
    let late = NOW + SignedDuration::from_hours(1);
    run.examine(late, WhenReady::Leave);
    assert!(!run.needs_examination(late), "whoever asks as long as it is needed comes to an end");
    assert_eq!(run.next_due(late), None);
    assert_eq!(run.examine(late, WhenReady::Schedule).run, RunVerdict::TimedOut);
}

#[test]
fn a_run_of_the_future_asks_when_its_time_comes() {
    let plan = Sketch::of("a").plan();
    let date = NOW + SignedDuration::from_hours(1);
    let facts = Facts { logical_date: Some(date), ..Facts::default() };
    let instances = beginning(plan.dag());
    let mut run = Run::load(plan, facts, None, instances);
    assert_eq!(run.decide().run, RunVerdict::NotBefore(date));
    assert!(!run.needs_examination(NOW));
    assert_eq!(run.next_due(NOW), Some(date));
    assert!(run.needs_examination(date));
    assert_eq!(run.examine(date, WhenReady::Schedule).actions.len(), 1);
}

#[test]
fn at_the_time_that_is_told_something_happens() {
    let mut run = Sketch::of("a").run();
    run.decide();
    let due = NOW + SignedDuration::from_secs(5);
    run.set_state(run.task("a"), -1, Some(TaskState::UpForRetry), Some(due));
    assert!(run.decide().actions.is_empty());
    assert!(!run.needs_examination(due), "a retry is due strictly after its time");
    let next = run.next_due(NOW).unwrap();
    assert!(next > due && run.needs_examination(next));
    assert_eq!(run.examine(next, WhenReady::Schedule).actions.len(), 1);
    assert_eq!(run.next_due(next), None);

    let plan = Sketch::of("a").plan();
    let timeout = Some(SignedDuration::from_secs(60));
    let facts = Facts { start_date: Some(NOW), timeout, ..Facts::default() };
    let instances = beginning(plan.dag());
    let mut run = Run::load(plan, facts, None, instances);
    run.decide();
    run.decide();
    let next = run.next_due(NOW).unwrap();
    assert!(!run.needs_examination(NOW + SignedDuration::from_secs(60)) && run.needs_examination(next));
    assert_eq!(run.examine(next, WhenReady::Schedule).run, RunVerdict::TimedOut);
}

#[test]
fn rows_come_in_any_order() {
    let run = Sketch::of("a; b").mapped("a", crate::readiness::sketch::items(3)).run();
    let mut instances: Vec<_> = run.instances().collect();
    instances.reverse();
    let again = Run::load(run.plan().clone(), Facts::default(), None, instances.clone());
    assert!(again.instances().eq(run.instances()));

    // Of two about the same instance the later one is right.
    let later = Instance { state: Some(TaskState::Success), ..instances[1] };
    instances.push(later);
    let again = Run::load(run.plan().clone(), Facts::default(), None, instances);
    assert_eq!(again.instance(later.task, later.map_index), Some(later));
    assert_eq!(again.instances().count(), run.instances().count());
}
