//! Tasks in mapped groups: how many of them there are, and who waits for whom.

use ferroflow_model::readiness::{Action, Length, Pushed, Run, RunVerdict};
use ferroflow_model::state::TaskState;

use crate::readiness::expansion::{SCHEDULED, after_a, instances_of};
use crate::readiness::sketch::{ByName, GroupSketch, Sketch, items, result_of};

#[test]
fn what_is_in_a_mapped_group_is_there_as_often_as_the_group() {
    let sketch = Sketch::of("a; x < a; y < a, x").grouped(&["x", "y"], result_of("a"));
    let mut run = after_a(&sketch, 2);
    let (x, y) = (["x 1..2 made", "x[0] from unmapped"], ["y 1..2 made", "y[0] from unmapped"]);
    let scheduled = ["x[0] scheduled", "x[1] scheduled"];
    assert_eq!(run.decided(), [x, scheduled, y].concat(), "nothing is forgotten: no task itself is mapped");
    run.go("x[0]", TaskState::Success);
    assert_eq!(run.decided(), ["y[0] scheduled"]);
    run.go("x[1]", TaskState::Skipped);
    assert_eq!(run.decided(), ["y[1] skipped"]);
}

fn nested() -> Sketch {
    let mut sketch = Sketch::of("a; x < a; y < a, x; z < y").grouped(&["x"], result_of("a"));
    sketch.groups.push(GroupSketch { parent: Some(0), expand: Some(items(3)) });
    let place = sketch.place("y");
    sketch.tasks[place].group = Some(1);
    sketch
}

#[test]
fn nested_groups_multiply() {
    let mut run = after_a(&nested(), 2);
    let length = |run: &Run, id| run.length(run.task(id));
    assert_eq!((length(&run, "x"), length(&run, "y")), (Length::Known(2), Length::Known(6)));
    assert_eq!(length(&run, "z"), Length::NotMapped);
    run.push("a", None);
    assert_eq!((length(&run, "x"), length(&run, "y")), (Length::Unknown, Length::Unknown));
    let run = after_a(&nested().mapped("y", items(5)), 2);
    assert_eq!(length(&run, "y"), Length::Known(30));
    let run = after_a(&nested().mapped("y", items(5)), None);
    assert_eq!(length(&run, "y"), Length::Unknown);
}

#[test]
fn inside_nested_groups_each_waits_for_its_part_of_the_outer_group() {
    let mut run = after_a(&nested(), 2);
    run.decide();
    run.go("x[0]", TaskState::Success);
    assert_eq!(run.decided(), ["y[0] scheduled", "y[1] scheduled", "y[2] scheduled"]);
    run.go("x[1]", TaskState::Failed);
    assert_eq!(run.decided(), ["y[3] upstream_failed", "y[4] upstream_failed", "y[5] upstream_failed"]);
}

#[test]
fn in_a_mapped_group_each_waits_for_the_one_with_its_index() {
    let mut run = Sketch::of("x; y < x").grouped(&["x", "y"], items(3)).run();
    run.decide();
    run.go("x[1]", TaskState::Success);
    assert_eq!(run.decided(), ["y[1] scheduled"]);
    run.go("x[2]", TaskState::Failed);
    assert_eq!(run.decided(), ["y[2] upstream_failed"]);
    assert_eq!(run.state_of("y[0]"), None);
}

#[test]
fn a_task_of_the_group_waits_for_its_part_of_one_that_is_mapped_further() {
    let sketch = Sketch::of("x; y < x").mapped("x", items(2)).mapped("y", items(2));
    let mut run = sketch.grouped(&["x", "y"], items(2)).run();
    run.decide();
    for (id, told) in [("x[2]", [""; 0].as_slice()), ("x[3]", &["y[2] scheduled", "y[3] scheduled"])] {
        run.go(id, TaskState::Success);
        assert_eq!(run.decided(), *told, "{id}");
    }
}

#[test]
fn outside_of_the_group_all_of_its_instances_are_waited_for() {
    let mut run = Sketch::of("x; y < x").grouped(&["x"], items(2)).run();
    run.decide();
    run.go("x[0]", TaskState::Success);
    assert_eq!(run.decided(), [""; 0]);
    run.go("x[1]", TaskState::Success);
    assert_eq!(run.decided(), ["y scheduled"]);
}

#[test]
fn before_it_is_expanded_a_rule_for_which_one_is_enough_looks_at_the_whole_group() {
    for (rule, is_enough) in [
        ("one_success", true),
        ("one_done", true),
        ("none_failed_min_one_success", true),
        ("none_failed", false),
        ("all_done", false),
    ] {
        let sketch = Sketch::of(&format!("a; x < a; y : {rule} < x")).grouped(&["x", "y"], result_of("a"));
        let mut run = after_a(&sketch, 2);
        run.decide();
        let is_expanded = instances_of(&run, "y").len() == 2;
        assert_eq!(is_expanded, !is_enough, "{rule}");
        run.go("x[0]", TaskState::Success);
        run.decide();
        let waits_for_all = rule == "none_failed_min_one_success";
        assert_eq!(instances_of(&run, "y").len(), if waits_for_all { 1 } else { 2 }, "{rule}");
        run.go("x[1]", TaskState::Success);
        run.decide();
        assert_eq!(instances_of(&run, "y"), [(0, SCHEDULED), (1, SCHEDULED)], "{rule}");
    }
}

#[test]
fn what_a_group_is_mapped_over_counts_for_those_inside() {
    let mut run = Sketch::of("a; x : all_done < a").grouped(&["x"], result_of("a")).run();
    run.go("a", TaskState::Skipped);
    assert_eq!(run.decided(), ["x skipped"]);
}

#[test]
fn what_it_is_mapped_over_is_not_looked_at_as_a_whole() {
    let sketch =
        Sketch::of("x; y : one_success < x").mapped("y", result_of("x")).grouped(&["x", "y"], items(2));
    let mut run = sketch.run();
    run.push("x", 2);
    assert_eq!(run.length(run.task("y")), Length::Known(4));
    assert_eq!(
        run.decided(),
        ["x[0] scheduled", "x[1] scheduled", "y skipped"],
        "there is none without index"
    );
}

#[test]
fn those_that_are_made_are_looked_at_last_even_where_something_has_changed_for_them() {
    let words = "a; x < a; y : one_success < x; z : one_success < x";
    let mut run = after_a(&Sketch::of(words).grouped(&["x", "y"], result_of("a")), 2);
    run.decide();
    run.go("x[0]", TaskState::Success);
    let decision = run.decide();
    let scheduled = decision.actions.iter().filter_map(|action| match action {
        Action::Schedule { instance, .. } => Some(run.name(*instance)),
        _ => None,
    });
    assert_eq!(scheduled.collect::<Vec<_>>(), ["z", "y[0]"]);
}

#[test]
fn who_waits_for_whom_is_known_when_the_last_of_those_mapped_over_is_finished() {
    let sketch = Sketch::of("m; x < m; y < x").mapped("m", items(1)).grouped(&["x", "y"], result_of("m"));
    let running = Some(TaskState::Running);
    let of_x = [("x", 0, Some(TaskState::Success)), ("x", 1, running)];
    let mut run = sketch.run_with(&[[("m", 0, running), ("y", 0, None)], of_x].concat());
    run.set_pushed(run.task("m"), Pushed { length: None, results: 2 });
    assert_eq!(run.decided(), [""; 0]);
    run.go("m[0]", TaskState::Success);
    assert_eq!(run.decided(), ["y 1..2 made", "y[0] scheduled", "y[1] scheduled"]);
}

#[test]
fn or_when_the_one_that_stood_for_those_mapped_over_is_deleted() {
    let sketch = Sketch::of("a; m < a; x < m; y < x").mapped("m", result_of("a"));
    let (running, success) = (Some(TaskState::Running), Some(TaskState::Success));
    let of_m = [("a", -1, running), ("m", -1, None), ("m", 0, success)];
    let inside = [("x", 0, success), ("x", 1, running), ("y", 0, None), ("y", 1, None)];
    let sketch = sketch.grouped(&["x", "y"], result_of("m"));
    let mut run = sketch.run_with(&[of_m.as_slice(), &inside].concat());
    run.set_pushed(run.task("m"), Pushed { length: None, results: 2 });
    assert_eq!(run.decided(), [""; 0]);
    run.push("a", 1);
    run.go("a", TaskState::Success);
    assert_eq!(run.decided(), ["m deleted", "m forgotten", "y[0] scheduled"]);
}

/// Two that become of `y` are settled at once: `y[0]` was there when the examination began, `y[1]` was not.
fn settled_at_once(words: &str, of_w: Option<TaskState>) -> RunVerdict {
    let outcomes = [TaskState::Success, TaskState::Skipped, TaskState::Failed].map(Some);
    let of_x = [("a", -1, outcomes[0]), ("x", 0, outcomes[1]), ("x", 1, outcomes[2])];
    let sketch = Sketch::of(words).grouped(&["x", "y"], result_of("a"));
    let mut run = sketch.run_with(&[of_x.as_slice(), &[("y", -1, None), ("w", -1, of_w)]].concat());
    run.push("a", 2);
    let decision = run.decide();
    let told = ["y 1..2 made", "y[0] from unmapped", "y[0] skipped", "y[1] upstream_failed"];
    assert_eq!(run.told(&decision), told);
    decision.run
}

#[test]
fn the_end_of_a_run_is_told_by_the_new_ones_too() {
    let last = "a; x < a; y < x; w";
    assert_eq!(settled_at_once(last, Some(TaskState::Success)), RunVerdict::TasksFailed);
    assert_eq!(settled_at_once(last, Some(TaskState::Failed)), RunVerdict::TasksFailed);
    let followed = "a; x < a; y < x; w < y";
    assert_eq!(settled_at_once(followed, Some(TaskState::Failed)), RunVerdict::TasksFailed);
}
