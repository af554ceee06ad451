//! When a run is over, and when it never will be.

use ferroflow_model::readiness::{InstanceRef, Run, RunVerdict};
use ferroflow_model::state::TaskState;
use jiff::SignedDuration;
use serde_json::json;

use crate::readiness::sketch::{ByName, NOW, Sketch, items, result_of};

/// A run where `b` waits forever: `gone` takes no part in it.
fn stuck(words: &str) -> Sketch {
    Sketch::of(words).with("gone", "end_date", json!(0))
}

fn after_success_of_a(sketch: &Sketch) -> Run {
    let mut run = sketch.run();
    run.go("a", TaskState::Success);
    run
}

fn blocked(run: &mut Run) -> Option<String> {
    match run.decide().run {
        RunVerdict::Deadlocked { blocked } => Some(blocked.map_or(String::new(), |one| run.name(one))),
        RunVerdict::Running => None,
        other => panic!("{other}"),
    }
}

#[test]
fn a_run_in_which_nothing_can_ever_run_is_deadlocked() {
    let mut run = after_success_of_a(&stuck("a; gone; b < a, gone"));
    assert_eq!(blocked(&mut run).as_deref(), Some("b"));
    assert_eq!(run.state_of("b"), None, "it is left as it is");
    assert_eq!(blocked(&mut run).as_deref(), Some("b"), "and stays so");
}

#[test]
fn not_while_something_is_on_its_way() {
    for state in [TaskState::Scheduled, TaskState::Queued, TaskState::Running, TaskState::Restarting] {
        let mut run = after_success_of_a(&stuck("a; gone; b < a, gone; c"));
        run.go("c", state);
        assert_eq!(blocked(&mut run), None, "{state}");
        run.go("c", TaskState::Success);
        assert_eq!(blocked(&mut run).as_deref(), Some("b"), "{state}");
    }
}

#[test]
fn not_while_something_waits_for_a_trigger_or_a_person() {
    for state in [TaskState::Deferred, TaskState::AwaitingInput] {
        // Were it asked, it could not run either.
        let mut run = after_success_of_a(&stuck("a; gone; b < a, gone; c < gone"));
        run.go("c", state);
        assert_eq!(blocked(&mut run), None, "{state}");
        run.go("c", TaskState::Queued);
        assert_eq!(blocked(&mut run).as_deref(), Some("b"), "{state}");
    }
}

#[test]
fn not_while_something_unfinished_may_wait_for_other_runs() {
    for (field, value) in [
        ("depends_on_past", json!(true)),
        ("max_active_tis_per_dag", json!(1)),
        ("max_active_tis_per_dagrun", json!(1)),
    ] {
        let sketch = stuck("a; gone; b < a, gone");
        let mut run = after_success_of_a(&sketch.clone().with("b", field, value.clone()));
        assert_eq!(blocked(&mut run), None, "{field}");
        let mut run = after_success_of_a(&sketch.with("a", field, value));
        assert_eq!(blocked(&mut run).as_deref(), Some("b"), "{field} of one that is finished");
    }
}

#[test]
fn not_while_a_retry_is_due_later() {
    for state in [TaskState::UpForRetry, TaskState::UpForReschedule] {
        let mut run = after_success_of_a(&stuck("a; gone; b < a, gone; c"));
        run.wait("c", state, NOW + SignedDuration::from_secs(9));
        assert_eq!(blocked(&mut run), None, "{state}");
    }
}

#[test]
fn not_while_something_is_ready() {
    let mut run = after_success_of_a(&stuck("a; gone; b < a, gone; c"));
    assert_eq!(blocked(&mut run), None);
}

#[test]
fn not_while_something_has_just_been_settled() {
    let mut run = after_success_of_a(&stuck("a; gone; b < a, gone; c : all_failed < a"));
    assert_eq!(blocked(&mut run), None);
    assert_eq!(run.state_of("c"), Some(TaskState::Skipped));
    assert_eq!(blocked(&mut run).as_deref(), Some("b"));
}

#[test]
fn not_while_something_has_just_been_settled_in_spite_of_nothing_to_wait_for() {
    let sketch = stuck("a; gone; b < a, gone; m; n < m").mapped("m", items(2)).mapped("n", items(2));
    let mut run = after_success_of_a(&sketch);
    run.go("m[0]", TaskState::Success);
    run.go("m[1]", TaskState::Removed);
    run.go("n[0]", TaskState::Success);
    assert_eq!(blocked(&mut run), None);
    assert_eq!(run.state_of("n[1]"), Some(TaskState::Removed));
    assert_eq!(blocked(&mut run).as_deref(), Some("b"));
}

#[test]
fn not_while_something_has_just_become_several() {
    let mut run = after_success_of_a(&stuck("a; gone; b < a, gone; m").mapped("m", items(0)));
    assert_eq!(blocked(&mut run), None);
    assert_eq!(blocked(&mut run).as_deref(), Some("b"));
}

#[test]
fn the_one_named_is_the_first_with_something_finished_upstream() {
    let mut run = after_success_of_a(&stuck("z; a; gone; b < gone; d < a, gone; e < a, gone"));
    run.go("z", TaskState::Success);
    assert_eq!(blocked(&mut run).as_deref(), Some("d"));
}

#[test]
fn one_that_was_settled_just_now_is_not_named() {
    let mut run = stuck("a; gone; b < a; c : all_done < a, gone").run();
    run.go("b", TaskState::Running);
    run.go("a", TaskState::Failed);
    assert_eq!(blocked(&mut run).as_deref(), Some("c"));
    assert_eq!(run.state_of("b"), Some(TaskState::UpstreamFailed));
}

#[test]
fn there_may_be_none_to_name() {
    let mut run = stuck("gone; b < gone").run();
    assert_eq!(blocked(&mut run).as_deref(), Some(""));
}

#[test]
fn the_one_named_has_its_index() {
    let mut run = after_success_of_a(&stuck("a; gone; b < a, gone").mapped("b", items(2)));
    let task = run.task("b");
    let blocked = Some(InstanceRef { task, map_index: 0 });
    assert_eq!(run.decide().run, RunVerdict::Deadlocked { blocked });
    run.go("b[0]", TaskState::Success);
    let blocked = Some(InstanceRef { task, map_index: 1 });
    assert_eq!(run.decide().run, RunVerdict::Deadlocked { blocked });
}

#[test]
fn one_on_its_way_is_settled_when_what_is_upstream_fails_after_all() {
    let mut run = Sketch::of("a; b < a").run();
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), ["b scheduled"]);
    run.go("b", TaskState::Running);
    run.go("a", None);
    assert_eq!(run.decided(), ["a scheduled"]);
    run.go("a", TaskState::Failed);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["b upstream_failed"]);
    assert_eq!(decision.run, RunVerdict::TasksFailed, "there is nothing unfinished any more");
}

#[test]
fn those_on_their_way_are_asked_in_order_up_to_the_first_that_can_run() {
    let mut run = Sketch::of("a; b < a; c; d < a").run();
    for id in ["b", "c", "d"] {
        run.go(id, TaskState::Running);
    }
    run.go("a", TaskState::Failed);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["b upstream_failed"]);
    assert_eq!(decision.run, RunVerdict::Running);
    assert_eq!(run.decided(), [""; 0], "c comes before d");
    run.go("c", TaskState::Success);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["d upstream_failed"]);
    assert_eq!(decision.run, RunVerdict::TasksFailed);
}

#[test]
fn one_on_its_way_is_not_settled_while_something_is_ready() {
    let mut run = Sketch::of("a; b < a; c").run();
    run.go("b", TaskState::Running);
    run.go("a", TaskState::Failed);
    assert_eq!(run.decided(), ["c scheduled"]);
    assert_eq!(run.decided(), ["b upstream_failed"]);
}

#[test]
fn one_on_its_way_is_not_settled_while_something_may_wait_elsewhere() {
    let mut run = Sketch::of("a; b < a; c").run();
    run.go("b", TaskState::Running);
    run.go("c", TaskState::Deferred);
    run.go("a", TaskState::Failed);
    assert_eq!(run.decided(), [""; 0]);
}

#[test]
fn what_would_have_been_settled_is_not_when_upstream_is_well_again() {
    let mut run = Sketch::of("a; b < a; c").run();
    for id in ["b", "c"] {
        run.go(id, TaskState::Running);
    }
    run.go("c", TaskState::Deferred);
    run.go("a", TaskState::Failed);
    assert_eq!(run.decided(), [""; 0]);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), [""; 0]);
    run.go("c", TaskState::Success);
    assert_eq!(run.decided(), [""; 0]);
    assert_eq!(run.state_of("b"), Some(TaskState::Running));
}

#[test]
fn the_word_of_a_branch_settles_one_on_its_way_but_does_not_count_as_a_change() {
    let mut run = Sketch::of("a; b < a").with("a", "_can_skip_downstream", json!(true)).run();
    run.go("a", TaskState::Success);
    run.go("b", TaskState::Running);
    run.follow("a", &[]);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["b skipped"]);
    let blocked = Some(InstanceRef { task: run.task("b"), map_index: -1 });
    assert_eq!(decision.run, RunVerdict::Deadlocked { blocked });
}

#[test]
fn what_follows_from_a_failure_moves_on_one_task_per_examination() {
    let mut run = Sketch::of("a; b < a; c < b").run();
    run.go("a", TaskState::Failed);
    for told in [["b upstream_failed"], ["c upstream_failed"]] {
        let decision = run.decide();
        assert_eq!(run.told(&decision), told);
        assert_eq!(decision.run, RunVerdict::Running);
    }
    let decision = run.decide();
    assert_eq!((decision.actions.len(), decision.run), (0, RunVerdict::TasksFailed));
}

#[test]
fn so_it_does_whichever_way_the_ids_are_sorted() {
    let mut run = Sketch::of("c; b < c; a < b").run();
    run.go("c", TaskState::Skipped);
    assert_eq!(run.decided(), ["b skipped"]);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["a skipped"]);
    assert_eq!(decision.run, RunVerdict::Running);
    assert_eq!(run.decide().run, RunVerdict::Success);
}

#[test]
fn a_run_whose_last_task_does_nothing_ends_an_examination_later() {
    let mut run = Sketch::of("a").with("a", "_is_empty", json!(true)).run();
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["a done"]);
    assert_eq!(decision.run, RunVerdict::Running);
    assert_eq!(run.decide().run, RunVerdict::Success);
}

#[test]
fn a_run_whose_last_task_becomes_none_ends_at_once() {
    let mut run = Sketch::of("m").mapped("m", items(0)).run();
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["m forgotten", "m skipped at once"]);
    assert_eq!(decision.run, RunVerdict::Success);
}

#[test]
fn a_run_whose_last_task_is_mapped_over_what_is_not_there_fails_at_once() {
    let mut run = Sketch::of("a; m < a").mapped("m", result_of("a")).run();
    run.go("a", TaskState::Success);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["m forgotten", "m upstream_failed at once"]);
    assert_eq!(decision.run, RunVerdict::TasksFailed);
}

#[test]
fn what_was_settled_beside_an_expansion_is_finished_too() {
    let mut run = Sketch::of("a; b < a; m").mapped("m", items(0)).run();
    run.go("a", TaskState::Skipped);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["b skipped", "m forgotten", "m skipped at once"]);
    assert_eq!(decision.run, RunVerdict::Success);
}

#[test]
fn an_expansion_that_makes_instances_goes_on() {
    let mut run = Sketch::of("a; m < a").mapped("m", result_of("a")).run();
    run.push("a", 2);
    run.go("a", TaskState::Success);
    assert_eq!(run.decide().run, RunVerdict::Running);
    for id in ["m[0]", "m[1]"] {
        run.go(id, TaskState::Failed);
    }
    assert_eq!(run.decide().run, RunVerdict::TasksFailed);
}
