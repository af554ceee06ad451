//! What an instance waits for besides its trigger rule: time, the run before, and branches.

use std::sync::Arc;

use ferroflow_model::readiness::{Action, Facts, Past, PastTask, Pushed, Run, RunVerdict, Skips, WhenReady};
use ferroflow_model::state::TaskState;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::readiness::sketch::{ByName, NOW, Sketch, beginning, items, result_of};

const SECOND: SignedDuration = SignedDuration::from_secs(1);
const INSTANT: SignedDuration = SignedDuration::from_micros(1);

fn told_at(run: &mut Run, now: Timestamp) -> Vec<String> {
    let decision = run.examine(now, WhenReady::Schedule);
    run.told(&decision)
}

fn seconds(time: Timestamp) -> serde_json::Value {
    json!(time.as_second())
}

#[test]
fn a_retry_begins_after_its_time_not_at_it() {
    let mut run = Sketch::of("a").run();
    run.wait("a", TaskState::UpForRetry, NOW + SECOND);
    assert_eq!(told_at(&mut run, NOW), [""; 0]);
    assert_eq!(run.next_due(NOW), Some(NOW + SECOND + INSTANT));
    assert!(!run.needs_examination(NOW + SECOND));
    assert!(run.needs_examination(NOW + SECOND + INSTANT));
    assert_eq!(told_at(&mut run, NOW + SECOND), [""; 0]);
    assert_eq!(told_at(&mut run, NOW + SECOND + INSTANT), ["a scheduled"]);
    assert_eq!(run.next_due(NOW), None);
}

#[test]
fn one_that_asked_to_be_looked_at_again_is_at_that_time() {
    let mut run = Sketch::of("a").run();
    run.wait("a", TaskState::UpForReschedule, NOW + SECOND);
    assert_eq!(told_at(&mut run, NOW + SECOND - INSTANT), [""; 0]);
    assert_eq!(run.next_due(NOW), Some(NOW + SECOND));
    assert_eq!(told_at(&mut run, NOW + SECOND), ["a scheduled"]);
}

#[test]
fn a_sensor_that_was_cleared_keeps_its_time() {
    let sensor = Sketch::of("a").with("a", "_is_sensor", json!(true));
    let rescheduling = sensor.clone().with("a", "reschedule", json!(true));
    for (sketch, id) in [(rescheduling, "a"), (sensor.clone().mapped("a", items(1)), "a[0]")] {
        let mut run = sketch.run();
        run.wait(id, None, NOW + SECOND);
        assert_eq!(told_at(&mut run, NOW), [""; 0]);
        assert_eq!(told_at(&mut run, NOW + SECOND), [format!("{id} scheduled")]);
    }
    let mut run = sensor.run();
    run.wait("a", None, NOW + SECOND);
    assert_eq!(told_at(&mut run, NOW), ["a scheduled"], "it holds its slot while it waits");
}

#[test]
fn one_that_is_no_sensor_has_none_when_it_is_cleared() {
    let mut run = Sketch::of("a").run();
    run.wait("a", None, NOW + SECOND);
    assert_eq!(told_at(&mut run, NOW), ["a scheduled"]);
}

#[test]
fn a_time_is_forgotten_when_something_else_happens() {
    let mut run = Sketch::of("a").run();
    run.wait("a", TaskState::UpForRetry, NOW + SECOND);
    run.decide();
    run.wait("a", TaskState::UpForRetry, NOW + SECOND * 5);
    run.decide();
    assert_eq!(run.next_due(NOW), Some(NOW + SECOND * 5 + INSTANT));
    run.go("a", TaskState::Success);
    assert_eq!(run.next_due(NOW), None);
}

#[test]
fn the_first_of_several_times_comes_first() {
    let mut run = Sketch::of("a; b; c").run();
    for (id, due) in [("a", 3), ("b", 1), ("c", 2)] {
        run.wait(id, TaskState::UpForRetry, NOW + SECOND * due);
    }
    run.decide();
    assert_eq!(run.next_due(NOW), Some(NOW + SECOND + INSTANT));
    assert_eq!(told_at(&mut run, NOW + SECOND * 2 + INSTANT), ["b scheduled", "c scheduled"]);
    assert_eq!(run.next_due(NOW), Some(NOW + SECOND * 3 + INSTANT));
}

#[test]
fn time_alone_is_not_waited_for_where_a_rule_is_unmet() {
    let mut run = Sketch::of("a; b < a").run();
    run.wait("b", TaskState::UpForRetry, NOW + SECOND);
    run.decide();
    assert_eq!(run.next_due(NOW), None);
}

fn facts(start_date: Option<Timestamp>, timeout: Option<SignedDuration>) -> Facts {
    Facts { logical_date: None, start_date, timeout }
}

fn run_with(words: &str, facts: Facts) -> Run {
    let plan = Sketch::of(words).plan();
    let instances = beginning(plan.dag());
    Run::load(plan, facts, None, instances)
}

#[test]
fn a_run_times_out_after_its_time_not_at_it() {
    let mut run = run_with("a; b < a; c", facts(Some(NOW), Some(SECOND)));
    run.go("a", TaskState::Running);
    run.go("c", TaskState::Success);
    assert_eq!(run.examine(NOW + SECOND, WhenReady::Schedule).run, RunVerdict::Running);
    assert_eq!(run.next_due(NOW), Some(NOW + SECOND + INSTANT));
    let paused = run.examine(NOW + SECOND + INSTANT, WhenReady::Leave);
    assert_eq!(paused.run, RunVerdict::Running, "while the DAG is paused, time does not count");
    let decision = run.examine(NOW + SECOND + INSTANT, WhenReady::Schedule);
    assert_eq!(decision.run, RunVerdict::TimedOut);
    assert_eq!(run.told(&decision), ["a skipped at once", "b skipped at once"]);
    let [Action::Overwrite { from: Some(TaskState::Running), .. }, Action::Overwrite { from: None, .. }] =
        decision.actions[..]
    else {
        panic!("{decision:?}")
    };
    assert_eq!(run.state_of("b"), Some(TaskState::Skipped));
}

#[test]
fn what_is_due_first_may_be_the_end_of_the_run() {
    for (timeout, due, first) in [(2, 3, 2), (3, 2, 2)] {
        let mut run = run_with("a", facts(Some(NOW), Some(SECOND * timeout)));
        run.wait("a", TaskState::UpForRetry, NOW + SECOND * due);
        run.decide();
        assert_eq!(run.next_due(NOW), Some(NOW + SECOND * first + INSTANT));
        assert!(!run.needs_examination(NOW + SECOND * first));
        assert!(run.needs_examination(NOW + SECOND * first + INSTANT));
    }
}

#[test]
fn a_run_without_a_start_or_without_a_limit_never_times_out() {
    let end_of_time = facts(Some(Timestamp::MAX), Some(SECOND));
    for facts in [facts(None, Some(SECOND)), facts(Some(NOW), None), end_of_time] {
        let mut run = run_with("a", facts);
        assert_eq!(run.examine(NOW + SECOND * 9, WhenReady::Schedule).run, RunVerdict::Running);
        assert_eq!(run.next_due(NOW), None);
    }
}

#[test]
fn a_run_is_left_alone_before_its_logical_date() {
    let date = NOW + SECOND;
    let mut run = run_with("a", Facts { logical_date: Some(date), ..Facts::default() });
    let decision = run.examine(date - INSTANT, WhenReady::Schedule);
    assert_eq!((decision.actions.len(), decision.run), (0, RunVerdict::NotBefore(date)));
    assert!(!run.needs_examination(NOW) && run.needs_examination(date));
    assert_eq!(run.next_due(NOW), Some(date));
    assert_eq!(told_at(&mut run, date), ["a scheduled"]);
}

const OK: PastTask = PastTask { instances: 2, unsuccessful: 0, was_there_before: true };
const BAD: PastTask = PastTask { instances: 2, unsuccessful: 1, was_there_before: true };
const NONE_THERE: PastTask = PastTask { instances: 0, unsuccessful: 0, was_there_before: true };
const NEVER_THERE: PastTask = PastTask { instances: 0, unsuccessful: 0, was_there_before: false };

fn depending(words: &str) -> Sketch {
    Sketch::of(words).with("a", "depends_on_past", json!(true))
}

fn with_past(sketch: &Sketch, tasks: &[PastTask]) -> Run {
    let mut run = sketch.run();
    run.set_past(Some(Past { logical_date: Some(NOW - SECOND), tasks: tasks.to_vec() }));
    run
}

#[test]
fn a_task_that_depends_on_its_past_waits_for_its_own_success() {
    let sketch = depending("a; b");
    assert_eq!(with_past(&sketch, &[OK, BAD]).decided(), ["a scheduled", "b scheduled"]);
    assert_eq!(with_past(&sketch, &[BAD, OK]).decided(), ["b scheduled"]);
    assert_eq!(with_past(&sketch, &[NONE_THERE, OK]).decided(), ["b scheduled"]);
    assert_eq!(with_past(&sketch, &[]).decided(), ["b scheduled"]);
}

#[test]
fn in_the_first_run_there_is_no_past_to_depend_on() {
    assert_eq!(depending("a").run().decided(), ["a scheduled"]);
}

#[test]
fn a_change_in_the_past_is_noticed() {
    let mut run = with_past(&depending("a"), &[BAD]);
    assert_eq!(run.decided(), [""; 0]);
    assert!(!run.needs_examination(NOW));
    run.set_past(Some(Past { logical_date: Some(NOW - SECOND), tasks: vec![BAD] }));
    assert!(!run.needs_examination(NOW), "nothing has changed");
    run.set_past(Some(Past { logical_date: Some(NOW - SECOND), tasks: vec![OK] }));
    assert_eq!(run.decided(), ["a scheduled"]);
}

#[test]
fn the_first_instance_of_a_task_may_ignore_its_past() {
    let sketch = depending("a").with("a", "ignore_first_depends_on_past", json!(true));
    assert_eq!(with_past(&sketch, &[NEVER_THERE]).decided(), ["a scheduled"]);
    assert_eq!(with_past(&sketch, &[NONE_THERE]).decided(), [""; 0]);
    assert_eq!(with_past(&sketch, &[BAD]).decided(), [""; 0]);
    assert_eq!(with_past(&depending("a"), &[NEVER_THERE]).decided(), [""; 0]);
}

#[test]
fn waiting_for_downstream_is_waiting_for_what_is_directly_downstream() {
    let sketch = depending("a; b < a; c < b").with("a", "wait_for_downstream", json!(true));
    assert_eq!(with_past(&sketch, &[OK, OK, BAD]).decided(), ["a scheduled"]);
    assert_eq!(with_past(&sketch, &[OK, NONE_THERE, OK]).decided(), ["a scheduled"]);
    assert_eq!(with_past(&sketch, &[OK, BAD, OK]).decided(), [""; 0]);
    assert_eq!(with_past(&depending("a; b < a"), &[OK, BAD]).decided(), ["a scheduled"]);
}

#[test]
fn with_catchup_a_run_before_the_start_of_the_task_does_not_count() {
    for (catchup, start, is_ready) in
        [(true, NOW - SECOND + INSTANT, true), (true, NOW - SECOND, false), (false, NOW, false)]
    {
        let start = json!(start.as_duration().as_secs_f64());
        let sketch = depending("a").with("a", "start_date", start).setting("catchup", json!(catchup));
        assert_eq!(with_past(&sketch, &[BAD]).decided().len(), usize::from(is_ready), "{catchup}");
    }
    let sketch = depending("a").with("a", "start_date", seconds(NOW)).setting("catchup", json!(true));
    let mut run = sketch.run();
    run.set_past(Some(Past { logical_date: None, tasks: vec![BAD] }));
    assert_eq!(run.decided(), [""; 0], "a run about no time is not before anything");
}

#[test]
fn the_past_keeps_nothing_from_being_settled() {
    let mut run = with_past(&depending("u; a < u"), &[OK, BAD]);
    run.go("u", TaskState::Failed);
    assert_eq!(run.decided(), ["a upstream_failed"]);
}

fn branch(words: &str) -> Sketch {
    Sketch::of(words).with("b", "_can_skip_downstream", json!(true))
}

#[test]
fn a_branch_skips_what_it_does_not_follow_once_it_is_finished() {
    let mut run = branch("b; l < b; r < b").run();
    run.go("b", TaskState::Running);
    run.follow("b", &["r"]);
    assert_eq!(run.decided(), [""; 0]);
    run.go("b", TaskState::Success);
    assert_eq!(run.decided(), ["l skipped", "r scheduled"]);
}

#[test]
fn a_branch_can_name_what_it_skips() {
    let mut run = branch("b; l < b; r < b").run();
    run.go("b", TaskState::Success);
    let left = run.task("l");
    run.set_skips(run.task("b"), -1, Some(Skips { followed: None, skipped: Box::from([left]) }));
    assert_eq!(run.decided(), ["l skipped", "r scheduled"]);
}

#[test]
fn what_is_both_followed_and_skipped_is_skipped() {
    let mut run = branch("b; l < b; r < b").run();
    run.go("b", TaskState::Success);
    let (left, right) = (run.task("l"), run.task("r"));
    let skips = Skips { followed: Some(Box::from([left, right])), skipped: Box::from([left]) };
    run.set_skips(run.task("b"), -1, Some(skips));
    assert_eq!(run.decided(), ["l skipped", "r scheduled"]);
}

#[test]
fn a_branch_skips_whatever_the_rule_says() {
    let mut run = branch("b; o; l : one_success < b, o").run();
    run.go("o", TaskState::Failed);
    run.go("b", TaskState::Success);
    run.follow("b", &[]);
    assert_eq!(run.decided(), ["l skipped"]);
}

#[test]
fn a_task_that_cannot_skip_skips_nothing() {
    let mut run = Sketch::of("b; l < b").run();
    run.go("b", TaskState::Success);
    run.follow("b", &[]);
    assert_eq!(run.decided(), ["l scheduled"]);
}

#[test]
fn a_branch_that_is_taken_back_or_taken_later_is_noticed() {
    let mut run = branch("b; o; l < b, o; x < b, o").run();
    run.go("b", TaskState::Success);
    run.go("o", TaskState::Running);
    assert_eq!(run.decided(), [""; 0]);
    run.follow("b", &["x"]);
    assert_eq!(run.decided(), ["l skipped"]);
    run.go("l", None);
    run.set_skips(run.task("b"), -1, None);
    assert_eq!(run.decided(), [""; 0]);
}

#[test]
fn the_branches_of_a_mapped_task_are_taken_index_by_index() {
    let mut run = branch("b; l : all_done < b").mapped("b", items(2)).mapped("l", items(2)).run();
    run.follow("b[0]", &[]);
    run.follow("b[1]", &["l"]);
    run.go("b[0]", TaskState::Success);
    run.go("b[1]", TaskState::Running);
    assert_eq!(run.decided(), ["l[0] skipped"], "one of its instances being finished is enough");
    run.go("b[1]", TaskState::Success);
    assert_eq!(run.decided(), ["l[1] scheduled"]);
}

#[test]
fn a_branch_inside_a_mapped_group_has_no_effect() {
    let mut run = branch("b; l < b").grouped(&["b", "l"], items(2)).run();
    for index in ["b[0]", "b[1]"] {
        run.follow(index, &[]);
        run.go(index, TaskState::Success);
    }
    assert_eq!(run.decided(), ["l[0] scheduled", "l[1] scheduled"]);
}

#[test]
fn a_branch_skips_all_instances_of_a_mapped_task() {
    let mut run = branch("b; l < b").mapped("l", items(2)).run();
    run.follow("b", &[]);
    run.go("b", TaskState::Success);
    assert_eq!(run.decided(), ["l[0] skipped", "l[1] skipped"]);
}

#[test]
fn a_task_that_is_expanded_again_has_taken_no_branch_yet() {
    let mut run = branch("a; b < a; l < b").mapped("b", result_of("a")).run();
    run.follow("b", &[]);
    run.push("b", 4);
    run.push("a", 1);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), ["b forgotten", "b[0] from unmapped", "b[0] scheduled"]);
    assert_eq!(run.pushed(run.task("b")), Pushed::default(), "nor has it pushed anything");
    run.go("b[0]", TaskState::Success);
    assert_eq!(run.decided(), ["l scheduled"]);
}

#[test]
fn whatever_a_run_is_told_about_what_is_not_there_changes_nothing() {
    let mut run = Sketch::of("a; b < a").run();
    let a = run.task("a");
    assert!(!run.set_state(a, 7, Some(TaskState::Success), None));
    run.set_pushed(a, Pushed { length: Some(3), results: 0 });
    assert_eq!(run.decided(), ["a scheduled"]);
    let again =
        Run::load(Arc::clone(run.plan()), Facts::default(), None, run.instances().collect::<Vec<_>>());
    assert!(again.instances().eq(run.instances()));
}
