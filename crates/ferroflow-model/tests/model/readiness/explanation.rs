//! What people read about an instance that is not finished, and about a run.

use ferroflow_model::readiness::{Facts, Past, PastTask, Run, RunVerdict, Waiting};
use ferroflow_model::state::TaskState;
use jiff::SignedDuration;
use serde_json::json;

use crate::readiness::sketch::{ByName, NOW, Sketch, beginning, items, result_of};

/// The reasons of a task's instance without map index, or of the first one with.
fn reasons(run: &Run, id: &str) -> Vec<String> {
    let task = run.task(id);
    let answer = run.explain(task, -1, NOW).or_else(|| run.explain(task, 0, NOW));
    match answer {
        Some(Waiting::For(unmet)) => unmet.iter().map(|unmet| unmet.describe(run.plan().dag())).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_trigger_rule_tells_what_became_of_those_upstream() {
    let mut run = Sketch::of("a; b; c; d; e; f; w : all_done < a, b, c, d, e, f").run();
    let none = "the trigger rule all_done is not met: 0 of 6 upstream are finished";
    assert_eq!(reasons(&run, "w"), [none]);
    run.go("c", TaskState::Failed);
    let one = "the trigger rule all_done is not met: 1 of 6 upstream are finished (1 failed)";
    assert_eq!(reasons(&run, "w"), [one]);
    run.go("a", TaskState::Success);
    run.go("b", TaskState::Skipped);
    run.go("d", TaskState::UpstreamFailed);
    run.go("e", TaskState::Removed);
    let five = "the trigger rule all_done is not met: 5 of 6 upstream are finished \
                (1 succeeded, 1 skipped, 1 failed, 1 upstream failed, 1 removed)";
    assert_eq!(reasons(&run, "w"), [five]);
}

#[test]
fn in_a_mapped_group_those_are_counted_that_belong_to_it() {
    let mut run = Sketch::of("a; x < a; y : one_failed < x").grouped(&["x", "y"], items(2)).run();
    run.go("x[1]", TaskState::Success);
    assert_eq!(reasons(&run, "y"), ["the trigger rule one_failed is not met: 0 of 1 upstream are finished"]);
    let mut run = Sketch::of("a; x < a; y < x").grouped(&["x", "y"], result_of("a")).run();
    run.push("a", 2);
    assert_eq!(reasons(&run, "y"), ["the trigger rule all_success is not met: 0 of 1 upstream are finished"]);
}

#[test]
fn setups_further_up_are_told_beside_the_rule() {
    let mut run = Sketch::of("s; a < s; b < a").with("s", "is_setup", json!(true)).run();
    let rule = "the trigger rule all_success is not met: 0 of 1 upstream are finished";
    let setups = "every setup further upstream has to succeed: 0 of 1 of these are finished";
    assert_eq!(reasons(&run, "b"), [setups, rule]);
    run.go("s", TaskState::Failed);
    let setups = "every setup further upstream has to succeed: 1 of 1 of these are finished (1 failed)";
    assert_eq!(reasons(&run, "b"), [setups], "the rule is not asked any more");
}

#[test]
fn a_teardown_tells_what_it_cleans_up_after_when_its_rule_is_met() {
    let words = "s; a < s; b : always < a; t : all_done_setup_success < s, b";
    let sketch = Sketch::of(words).with("s", "is_setup", json!(true)).with("t", "is_teardown", json!(true));
    let mut run = sketch.run();
    run.go("s", TaskState::Success);
    let rule = "the trigger rule all_done_setup_success is not met: \
                1 of 2 upstream are finished (1 succeeded)";
    assert_eq!(reasons(&run, "t"), [rule]);
    run.go("b", TaskState::Success);
    let scope = "what it cleans up after has to be finished: 0 of 1 of that are finished";
    assert_eq!(reasons(&run, "t"), [scope]);
    run.go("a", TaskState::Failed);
    assert_eq!(run.explain(run.task("t"), -1, NOW), Some(Waiting::ToBeScheduled));
}

#[test]
fn what_it_is_mapped_over_is_told() {
    let mut run = Sketch::of("a; m : all_done < a").mapped("m", result_of("a")).run();
    run.go("a", TaskState::Removed);
    assert_eq!(reasons(&run, "m"), ["it is mapped over the result of a, which is removed"]);
    run.go("a", TaskState::UpstreamFailed);
    assert_eq!(reasons(&run, "m"), ["it is mapped over the result of a, which is upstream_failed"]);
}

#[test]
fn a_branch_is_told() {
    let mut run = Sketch::of("b; l < b").with("b", "_can_skip_downstream", json!(true)).run();
    run.go("b", TaskState::Success);
    run.follow("b", &[]);
    assert_eq!(reasons(&run, "l"), ["b took a branch that leaves it out"]);
}

#[test]
fn the_past_is_told() {
    let sketch = Sketch::of("a; b < a").with("a", "depends_on_past", json!(true));
    let mut run = sketch.with("a", "wait_for_downstream", json!(true)).run();
    let ok = PastTask { instances: 3, unsuccessful: 0, was_there_before: true };
    for (tasks, told) in [
        ([PastTask::default(), ok], "it depends on its past, and the run before has no instance of it"),
        (
            [PastTask { unsuccessful: 2, ..ok }, ok],
            "it depends on its past, and 2 of its instances in the run before have not succeeded",
        ),
        (
            [ok, PastTask { unsuccessful: 1, ..ok }],
            "it waits for what is downstream in the run before, and b there has not succeeded",
        ),
    ] {
        run.set_past(Some(Past { logical_date: Some(NOW), tasks: tasks.to_vec() }));
        assert_eq!(reasons(&run, "a"), [told]);
    }
}

#[test]
fn times_are_told() {
    let due = NOW + SignedDuration::from_secs(1);
    let sensor = Sketch::of("a").with("a", "_is_sensor", json!(true)).with("a", "reschedule", json!(true));
    let mut run = sensor.run();
    run.wait("a", TaskState::UpForRetry, due);
    assert_eq!(reasons(&run, "a"), ["its next try is not due before 2023-11-14T22:13:21Z"]);
    for state in [Some(TaskState::UpForReschedule), None] {
        run.wait("a", state, due);
        assert_eq!(reasons(&run, "a"), ["it asked to be looked at again at 2023-11-14T22:13:21Z"]);
    }
    assert_eq!(run.explain(run.task("a"), -1, due), Some(Waiting::ToBeScheduled));

    let plan = Sketch::of("a").plan();
    let instances = beginning(plan.dag());
    let run = Run::load(plan, Facts { logical_date: Some(due), ..Facts::default() }, None, instances);
    assert_eq!(reasons(&run, "a"), ["its run is about 2023-11-14T22:13:21Z, which has not come yet"]);
}

#[test]
fn several_reasons_are_all_told() {
    let mut run = Sketch::of("a; b; w < a, b")
        .with("a", "_can_skip_downstream", json!(true))
        .with("w", "depends_on_past", json!(true))
        .run();
    run.go("a", TaskState::Success);
    run.follow("a", &[]);
    run.set_past(Some(Past::default()));
    run.wait("w", TaskState::UpForRetry, NOW);
    let reasons = reasons(&run, "w");
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons[0].starts_with("the trigger rule") && reasons[1].starts_with("a took"), "{reasons:?}");
    assert!(reasons[2].contains("its past") && reasons[3].contains("next try"), "{reasons:?}");
}

#[test]
fn one_on_its_way_says_where_it_is() {
    let mut run = Sketch::of("a; b < a").run();
    for state in [
        TaskState::Scheduled,
        TaskState::Queued,
        TaskState::Running,
        TaskState::Restarting,
        TaskState::Deferred,
        TaskState::AwaitingInput,
    ] {
        run.go("b", state);
        assert_eq!(run.explain(run.task("b"), -1, NOW), Some(Waiting::OnItsWay(state)));
    }
}

#[test]
fn one_that_nothing_keeps_from_running_is_to_be_scheduled() {
    let mut run = Sketch::of("a").run();
    for state in [None, Some(TaskState::UpForRetry), Some(TaskState::UpForReschedule)] {
        run.go("a", state);
        assert_eq!(run.explain(run.task("a"), -1, NOW), Some(Waiting::ToBeScheduled));
    }
}

#[test]
fn there_is_no_reason_for_one_that_is_finished_or_not_there() {
    let mut run = Sketch::of("a; m").mapped("m", items(2)).run();
    for state in TaskState::ALL.iter().filter(|state| state.is_finished()) {
        run.go("a", *state);
        assert_eq!(run.explain(run.task("a"), -1, NOW), None, "{state}");
    }
    assert_eq!(run.explain(run.task("a"), 0, NOW), None);
    assert_eq!(run.explain(run.task("m"), -1, NOW), None);
    assert_eq!(run.explain(run.task("m"), 2, NOW), None);
    assert_eq!(run.explain(run.task("m"), 1, NOW), Some(Waiting::ToBeScheduled));
}

#[test]
fn a_verdict_about_a_run_reads_as_a_sentence() {
    for (verdict, told) in [
        (RunVerdict::Running, "the run goes on"),
        (RunVerdict::NotBefore(NOW), "the run is about 2023-11-14T22:13:20Z, which has not come yet"),
        (RunVerdict::Success, "the run has succeeded"),
        (RunVerdict::TasksFailed, "the run has failed: tasks at its end have failed"),
        (RunVerdict::TimedOut, "the run has failed: it has taken longer than its DAG allows"),
        (
            RunVerdict::Deadlocked { blocked: None },
            "the run has failed: no unfinished task can ever become ready",
        ),
    ] {
        assert_eq!(verdict.to_string(), told);
    }
}
