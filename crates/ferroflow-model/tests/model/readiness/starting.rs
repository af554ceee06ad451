//! How an instance that is ready begins.

use ferroflow_model::readiness::{Action, WhenReady};
use ferroflow_model::state::TaskState;
use serde_json::{Value, json};

use crate::readiness::sketch::{ByName, NOW, Sketch, items};

fn an_asset() -> Value {
    json!([{"__type": "asset", "__var": {"name": "n", "uri": "u", "group": "asset", "extra": {}}}])
}

fn a_trigger() -> Value {
    json!({"trigger_cls": "triggers.Clock", "next_method": "go_on"})
}

#[test]
fn a_task_that_does_nothing_succeeds_at_once() {
    let mut run = Sketch::of("a; b < a").with("a", "_is_empty", json!(true)).run();
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["a done"]);
    let instance = run.instance(run.task("a"), -1).unwrap();
    assert_eq!((instance.state, instance.due), (Some(TaskState::Success), None));
    assert_eq!(run.decided(), ["b scheduled"]);
}

#[test]
fn unless_somebody_would_notice() {
    for (field, value) in [
        ("has_on_execute_callback", json!(true)),
        ("has_on_success_callback", json!(true)),
        ("inlets", an_asset()),
        ("outlets", an_asset()),
    ] {
        let empty = Sketch::of("a").with("a", "_is_empty", json!(true));
        assert_eq!(empty.with("a", field, value).run().decided(), ["a scheduled"], "{field}");
    }
    for field in ["has_on_failure_callback", "has_on_retry_callback", "has_on_skipped_callback"] {
        let empty = Sketch::of("a").with("a", "_is_empty", json!(true));
        assert_eq!(empty.with("a", field, json!(true)).run().decided(), ["a done"], "{field}");
    }
}

#[test]
fn a_task_may_begin_with_its_trigger() {
    let sketch = Sketch::of("a").with("a", "start_from_trigger", json!(true));
    assert_eq!(sketch.run().decided(), ["a scheduled"], "there is no trigger");
    let sketch = sketch.with("a", "start_trigger_args", a_trigger());
    let mut run = sketch.run();
    assert_eq!(run.decided(), ["a deferred"]);
    assert_eq!(run.state_of("a"), Some(TaskState::Deferred));
    let sketch = sketch.with("a", "start_from_trigger", json!(false));
    assert_eq!(sketch.run().decided(), ["a scheduled"], "it does not say so");
}

#[test]
fn a_mapped_task_begins_with_its_trigger_too() {
    let sketch = Sketch::of("a")
        .with("a", "start_from_trigger", json!(true))
        .with("a", "start_trigger_args", a_trigger())
        .mapped("a", items(1));
    assert_eq!(sketch.run().decided(), ["a[0] deferred"]);
}

#[test]
fn doing_nothing_comes_before_a_trigger() {
    let sketch = Sketch::of("a")
        .with("a", "_is_empty", json!(true))
        .with("a", "start_from_trigger", json!(true))
        .with("a", "start_trigger_args", a_trigger());
    assert_eq!(sketch.run().decided(), ["a done"]);
}

#[test]
fn they_begin_in_the_order_of_their_ids_as_bytes() {
    let mut run = Sketch::of("b; a_b; a1; B; a").mapped("a1", items(2)).run();
    let decision = run.decide();
    let scheduled = decision.actions.iter().filter_map(|action| match action {
        Action::Schedule { instance, .. } => Some(run.name(*instance)),
        _ => None,
    });
    assert_eq!(scheduled.collect::<Vec<_>>(), ["B", "a", "a1[0]", "a1[1]", "a_b", "b"]);
}

#[test]
fn another_look_is_no_new_try() {
    for (state, is_new) in
        [(None, true), (Some(TaskState::UpForRetry), true), (Some(TaskState::UpForReschedule), false)]
    {
        let mut run = Sketch::of("a").run();
        run.go("a", state);
        let decision = run.decide();
        let [Action::Schedule { from, is_new_try, .. }] = decision.actions[..] else {
            panic!("{decision:?}")
        };
        assert_eq!((from, is_new_try), (state, is_new));
    }
}

#[test]
fn one_that_has_begun_has_no_time_to_wait_for() {
    let mut run = Sketch::of("a").run();
    run.wait("a", TaskState::UpForReschedule, NOW);
    assert_eq!(run.decided(), ["a scheduled"]);
    assert_eq!(run.instance(run.task("a"), -1).unwrap().due, None);
}

#[test]
fn only_those_that_wait_to_be_scheduled_are() {
    for state in TaskState::ALL {
        let mut run = Sketch::of("a").run();
        run.go("a", *state);
        let waits = matches!(state, TaskState::UpForRetry | TaskState::UpForReschedule);
        assert_eq!(run.decided().len(), usize::from(waits), "{state}");
    }
}

#[test]
fn what_is_left_as_it_is_stays_ready() {
    let mut run = Sketch::of("a; b < a").run();
    for _ in 0..2 {
        let decision = run.examine(NOW, WhenReady::Leave);
        assert_eq!(run.told(&decision), [""; 0]);
        assert!(!run.needs_examination(NOW));
    }
    assert_eq!(run.decided(), ["a scheduled"]);
    assert_eq!(run.decided(), [""; 0]);
    assert!(!run.needs_examination(NOW));
}

#[test]
fn while_ready_ones_are_left_alone_others_are_settled() {
    let mut run = Sketch::of("a; b < a; c").run();
    run.go("a", TaskState::Failed);
    let decision = run.examine(NOW, WhenReady::Leave);
    assert_eq!(run.told(&decision), ["b upstream_failed"]);
}
