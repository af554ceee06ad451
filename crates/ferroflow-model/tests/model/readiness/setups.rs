//! Setups, teardowns, and which tasks tell how a run ended.

use ferroflow_model::readiness::RunVerdict;
use ferroflow_model::state::TaskState::{self, Failed, Removed, Skipped, Success, UpstreamFailed};
use serde_json::json;

use crate::readiness::sketch::{ByName, Sketch, items};

fn setup(words: &str) -> Sketch {
    Sketch::of(words).with("s", "is_setup", json!(true))
}

fn with_teardown(words: &str) -> Sketch {
    setup(words).with("t", "is_teardown", json!(true)).with("t", "on_failure_fail_dagrun", json!(false))
}

const CHAIN: &str = "s; a : all_done < s; b : all_done < a; t : all_done_setup_success < s, b";

#[test]
fn a_setup_that_failed_reaches_all_that_it_prepares_for_at_once() {
    for (outcome, becomes) in [
        (TaskState::Failed, "b upstream_failed"),
        (TaskState::UpstreamFailed, "b upstream_failed"),
        (TaskState::Skipped, "b skipped"),
    ] {
        let mut run = with_teardown(CHAIN).run();
        run.go("s", outcome);
        assert_eq!(run.decided(), ["a scheduled", becomes], "{outcome}");
    }
}

#[test]
fn a_setup_without_a_teardown_prepares_for_everything_after_it() {
    let mut run = setup("s; a : all_done < s; b : all_done < a").run();
    run.go("s", TaskState::Failed);
    assert_eq!(run.decided(), ["a scheduled", "b upstream_failed"]);
}

#[test]
fn a_setup_does_not_prepare_for_what_its_teardown_does_not_come_after() {
    let words = "s; a : all_done < s; b : all_done < a; t : all_done_setup_success < s, a";
    let mut run = with_teardown(words).run();
    run.go("s", TaskState::Failed);
    assert_eq!(run.decided(), ["a scheduled"]);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), ["b scheduled", "t upstream_failed"]);
}

#[test]
fn one_of_several_teardowns_is_enough() {
    let words = "s; a : all_done < s; b : all_done < a; t < s, a; u < s, b";
    let mut run = with_teardown(words).with("u", "is_teardown", json!(true)).run();
    run.go("s", TaskState::Failed);
    let decided = run.decided();
    assert!(decided.contains(&"b upstream_failed".to_owned()), "{decided:?}");
}

#[test]
fn an_indirect_setup_that_has_not_succeeded_yet_is_waited_for() {
    let mut run = with_teardown("s; a : always < s; b < a; t < s, b").run();
    run.go("s", TaskState::Running);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), [""; 0]);
    run.go("s", TaskState::Success);
    assert_eq!(run.decided(), ["b scheduled"]);
}

#[test]
fn where_a_setup_is_waited_for_the_rule_can_settle_all_the_same() {
    let mut run = with_teardown("s; a : always < s; b < a; t < s, b").run();
    run.go("s", TaskState::Running);
    run.go("a", TaskState::Skipped);
    assert_eq!(run.decided(), ["b skipped"]);
}

#[test]
fn always_means_also_without_setups() {
    let mut run = with_teardown("s; a < s; b : always < a; t : all_done < s, b").run();
    run.go("s", TaskState::Failed);
    assert_eq!(run.decided(), ["a upstream_failed", "b scheduled"]);
}

#[test]
fn a_setup_is_asked_by_setups_but_not_by_teardowns() {
    let words = "s; r : all_done < s; a : all_done < r; t : all_done < a";
    let mut run = with_teardown(words).with("r", "is_setup", json!(true)).run();
    run.go("s", TaskState::Failed);
    run.go("r", TaskState::Success);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), ["t scheduled"]);
}

#[test]
fn mapped_setups_are_counted_instance_by_instance() {
    let mut run = setup("s; a : all_done < s; b : all_done < a").mapped("s", items(2)).run();
    run.go("s[0]", TaskState::Success);
    run.go("s[1]", TaskState::Running);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), [""; 0]);
    run.go("s[1]", TaskState::Success);
    assert_eq!(run.decided(), ["b scheduled"]);
}

#[test]
fn removed_setups_excuse_mapped_instances_only() {
    for (is_mapped, told) in [(false, ""), (true, "b[0] scheduled")] {
        let mut sketch = setup("s; a : all_done < s; b : all_done < a").mapped("s", items(2));
        if is_mapped {
            sketch = sketch.mapped("b", items(1));
        }
        let mut run = sketch.run();
        run.go("s[0]", TaskState::Success);
        run.go("s[1]", TaskState::Removed);
        run.go("a", TaskState::Success);
        assert_eq!(run.decided().join(", "), told);
    }
}

#[test]
fn a_mapped_instance_beyond_the_setups_that_are_left_is_removed() {
    let sketch = setup("s; a : all_done < s; b : all_done < a").mapped("s", items(2)).mapped("b", items(2));
    let mut run = sketch.run();
    run.go("s[0]", TaskState::Success);
    run.go("s[1]", TaskState::Removed);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), ["b[0] scheduled", "b[1] removed"]);
}

#[test]
fn what_the_rule_says_comes_after_what_setups_say() {
    let sketch = setup("s; a : all_done < s; b < a").mapped("s", items(2)).mapped("b", items(2));
    let mut run = sketch.run();
    run.go("s[0]", TaskState::Success);
    run.go("s[1]", TaskState::Removed);
    run.go("a", TaskState::Skipped);
    assert_eq!(run.decided(), ["b[0] skipped", "b[1] skipped"]);
}

#[test]
fn a_teardown_waits_for_all_that_it_cleans_up_after() {
    let mut run = with_teardown("s; a < s; b : always < a; t : all_done_setup_success < s, b").run();
    run.go("s", TaskState::Success);
    run.go("a", TaskState::Running);
    run.go("b", TaskState::Success);
    assert_eq!(run.decided(), [""; 0]);
    run.go("a", TaskState::Failed);
    assert_eq!(run.decided(), ["t scheduled"]);
}

#[test]
fn what_is_not_after_its_setup_is_not_cleaned_up_after() {
    let words = "s; x; b : always < s, x; y : always < x; t : all_done_setup_success < s, b, y";
    let mut run = with_teardown(words).run();
    run.go("x", TaskState::Running);
    for id in ["s", "b", "y"] {
        run.go(id, TaskState::Success);
    }
    assert_eq!(run.decided(), ["t scheduled"]);
}

#[test]
fn nor_is_what_comes_after_another_task_upstream() {
    let words = "s; x; y < x; b : always < y; t : all_done_setup_success < s, x, b";
    let mut run = with_teardown(words).run();
    run.go("y", TaskState::Running);
    for id in ["s", "x", "b"] {
        run.go(id, TaskState::Success);
    }
    assert_eq!(run.decided(), ["t scheduled"]);
}

#[test]
fn a_teardown_is_settled_by_its_setups() {
    for (outcome, told) in [
        (TaskState::Success, "t scheduled"),
        (TaskState::Skipped, "t skipped"),
        (TaskState::Failed, "t upstream_failed"),
    ] {
        let mut run = with_teardown("s; a : always < s; t : all_done_setup_success < s, a").run();
        run.go("a", TaskState::Running);
        run.go("s", outcome);
        assert_eq!(run.decided(), [""; 0], "{outcome}");
        run.go("a", TaskState::Failed);
        assert_eq!(run.decided(), [told]);
    }
}

#[test]
fn a_setup_that_takes_no_part_has_not_succeeded() {
    let sketch = with_teardown("s; a; t : all_done_setup_success < s, a").with("s", "end_date", json!(0));
    // Those of a task that was mapped once are as many as there are tasks.
    let mut run = sketch.run_with(&[("a", -1, Some(Success)), ("a", 0, Some(Success)), ("t", -1, None)]);
    assert_eq!(run.decided(), ["t upstream_failed"]);
}

fn verdict(sketch: &Sketch, outcomes: &[(&str, TaskState)]) -> RunVerdict {
    let mut run = sketch.run();
    for (id, state) in outcomes {
        run.go(id, *state);
    }
    run.decide().run
}

#[test]
fn the_end_of_a_run_is_told_by_its_leaves() {
    let sketch = Sketch::of("a; b : all_done < a");
    assert_eq!(verdict(&sketch, &[("a", Failed), ("b", Success)]), RunVerdict::Success);
    assert_eq!(verdict(&sketch, &[("a", Failed), ("b", Skipped)]), RunVerdict::Success);
    assert_eq!(verdict(&sketch, &[("a", Failed), ("b", Removed)]), RunVerdict::Success);
    assert_eq!(verdict(&sketch, &[("a", Success), ("b", Failed)]), RunVerdict::TasksFailed);
    assert_eq!(verdict(&sketch, &[("a", Success), ("b", UpstreamFailed)]), RunVerdict::TasksFailed);
    assert_eq!(verdict(&Sketch::of(""), &[]), RunVerdict::Success);
}

#[test]
fn a_teardown_does_not_tell_the_end_unless_it_says_so() {
    let sketch = with_teardown("s; a < s; t < s, a");
    let failing_teardown = [("s", Success), ("a", Success), ("t", Failed)];
    assert_eq!(verdict(&sketch, &failing_teardown), RunVerdict::Success);
    let failing_task = [("s", Success), ("a", Failed), ("t", Success)];
    assert_eq!(verdict(&sketch, &failing_task), RunVerdict::TasksFailed, "only a teardown comes after it");
    let followed = with_teardown("s; a < s; b : all_done < a; t < s, a");
    let failing_task_before = [("s", Success), ("a", Failed), ("b", Success), ("t", Success)];
    assert_eq!(verdict(&followed, &failing_task_before), RunVerdict::Success, "not only a teardown does");
    let telling = sketch.with("t", "on_failure_fail_dagrun", json!(true));
    assert_eq!(verdict(&telling, &failing_teardown), RunVerdict::TasksFailed);
    assert_eq!(verdict(&telling, &failing_task), RunVerdict::Success, "something that tells comes after it");
}

#[test]
fn the_run_waits_for_teardowns() {
    let sketch = with_teardown("s; a < s; t < s, a");
    assert_eq!(verdict(&sketch, &[("s", Success), ("a", Failed)]), RunVerdict::Running);
}

#[test]
fn in_a_dag_of_teardowns_the_last_ones_tell() {
    let sketch =
        with_teardown("s; t < s").with("s", "is_setup", json!(false)).with("s", "is_teardown", json!(true));
    assert_eq!(verdict(&sketch, &[("s", Failed), ("t", Success)]), RunVerdict::Success);
    assert_eq!(verdict(&sketch, &[("s", Success), ("t", Failed)]), RunVerdict::TasksFailed);
}
