//! Instances of mapped tasks come into being and go.

use ferroflow_model::readiness::{Action, Decision, Length, MAX_INSTANCES, Pushed, Run, RunVerdict};
use ferroflow_model::state::TaskState;
use serde_json::{Value, json};

use crate::readiness::sketch::{ByName, Sketch, items, result_of};

fn mapped_over_a() -> Sketch {
    Sketch::of("a; m < a").mapped("m", result_of("a"))
}

/// A run in which `a` has pushed so many items.
pub(crate) fn after_a(sketch: &Sketch, length: impl Into<Option<u64>>) -> Run {
    let mut run = sketch.run();
    run.push("a", length);
    run.go("a", TaskState::Success);
    run
}

fn results(run: &mut Run, id: &str, results: u64) {
    run.set_pushed(run.task(id), Pushed { length: None, results });
}

fn arguments(arguments: &Value) -> Value {
    json!({"type": "dict-of-lists", "value": {"__type": "dict", "__var": arguments}})
}

/// The instances of a task, by map index.
pub(crate) fn instances_of(run: &Run, id: &str) -> Vec<(i32, Option<TaskState>)> {
    let task = run.task(id);
    let instances = run.instances().filter(|instance| instance.task == task);
    instances.map(|instance| (instance.map_index, instance.state)).collect()
}

pub(crate) const SCHEDULED: Option<TaskState> = Some(TaskState::Scheduled);
const REMOVED: Option<TaskState> = Some(TaskState::Removed);

#[test]
fn a_task_over_a_literal_list_needs_no_expansion() {
    let mut run = Sketch::of("m").mapped("m", items(2)).run();
    assert_eq!(run.length(run.task("m")), Length::Known(2));
    assert_eq!(run.decided(), ["m[0] scheduled", "m[1] scheduled"]);
}

#[test]
fn a_task_over_a_result_becomes_as_many_as_there_are_items() {
    let mut run = after_a(&mapped_over_a(), 3);
    assert_eq!(run.length(run.task("a")), Length::NotMapped);
    assert_eq!(run.length(run.task("m")), Length::Known(3));
    let told = [
        "m 1..3 made",
        "m forgotten",
        "m[0] from unmapped",
        "m[0] scheduled",
        "m[1] scheduled",
        "m[2] scheduled",
    ];
    assert_eq!(run.decided(), told);
    assert_eq!(instances_of(&run, "m"), [(0, SCHEDULED), (1, SCHEDULED), (2, SCHEDULED)]);
}

#[test]
fn a_task_over_one_item_becomes_one() {
    let mut run = after_a(&mapped_over_a(), 1);
    assert_eq!(run.decided(), ["m forgotten", "m[0] from unmapped", "m[0] scheduled"]);
}

#[test]
fn a_task_over_nothing_is_skipped() {
    let mut run = after_a(&mapped_over_a(), 0);
    assert_eq!(run.decided(), ["m forgotten", "m skipped at once"]);
}

#[test]
fn a_task_over_what_was_never_pushed_fails() {
    let mut run = after_a(&mapped_over_a(), None);
    assert_eq!(run.length(run.task("m")), Length::Unknown);
    assert_eq!(run.decided(), ["m forgotten", "m upstream_failed at once"]);
}

#[test]
fn a_task_with_more_than_the_most_instances_fails() {
    let mut run = after_a(&mapped_over_a(), MAX_INSTANCES + 1);
    assert_eq!(run.decided(), ["m forgotten", "m upstream_failed at once"]);
    let mut run = after_a(&mapped_over_a().with("m", "trigger_rule", json!("always")), MAX_INSTANCES);
    let decision = run.decide();
    let made = decision.actions.iter().find_map(|action| match action {
        Action::Create { first, end, .. } => Some((*first, *end)),
        _ => None,
    });
    assert_eq!(made, Some((1, 1_000_000)));
}

#[test]
fn several_arguments_are_combined() {
    let over = arguments(&json!({
        "x": [0, 0],
        "y": {"__type": "xcomref", "__var": {"task_id": "a", "key": "return_value"}},
    }));
    let sketch = Sketch::of("a; m < a").mapped("m", over);
    let run = after_a(&sketch, 3);
    assert_eq!(run.length(run.task("m")), Length::Known(6));
    let run = after_a(&sketch, None);
    assert_eq!(run.length(run.task("m")), Length::Unknown);
    let mut run = after_a(&sketch, 0);
    assert_eq!(run.decided(), ["m forgotten", "m skipped at once"]);
}

#[test]
fn a_task_over_no_arguments_is_skipped() {
    let mut run = Sketch::of("m").mapped("m", arguments(&json!({}))).run();
    assert_eq!(run.decided(), ["m forgotten", "m skipped at once"]);
}

/// A run with these instances of `m`, and `a` finished with so many items.
fn with_m(sketch: &Sketch, length: impl Into<Option<u64>>, of_m: &[(i32, Option<TaskState>)]) -> Run {
    let of_m = of_m.iter().map(|(map_index, state)| ("m", *map_index, *state));
    let of_a = [("a", -1, Some(TaskState::Success))];
    let mut run = sketch.run_with(&of_m.chain(of_a).collect::<Vec<_>>());
    run.push("a", length);
    run
}

#[test]
fn the_instance_without_index_is_deleted_where_the_first_is_there() {
    let mut run = with_m(&mapped_over_a(), 3, &[(-1, None), (0, Some(TaskState::Success))]);
    let told = ["m 1..3 made", "m deleted", "m forgotten", "m[1] scheduled", "m[2] scheduled"];
    assert_eq!(run.decided(), told);
    assert_eq!(instances_of(&run, "m"), [(0, Some(TaskState::Success)), (1, SCHEDULED), (2, SCHEDULED)]);
}

#[test]
fn one_that_was_deleted_is_not_waited_for() {
    let sketch = Sketch::of("a; m < a; w < m").mapped("m", result_of("a"));
    let of_m = [("m", -1, None), ("m", 0, Some(TaskState::Success))];
    let mut run = sketch.run_with(&[of_m, [("a", -1, Some(TaskState::Success)), ("w", -1, None)]].concat());
    run.push("a", 1);
    assert_eq!(run.decided(), ["m deleted", "m forgotten", "w scheduled"]);
}

#[test]
fn only_those_after_the_last_index_are_made_at_first_and_those_beyond_are_removed() {
    let there = [(-1, None), (1, Some(TaskState::Running)), (4, Some(TaskState::Failed))];
    let mut run = with_m(&mapped_over_a(), 4, &there);
    let decision = run.decide();
    let made = ["m 2..4 made", "m forgotten", "m[0] from unmapped", "m[0] scheduled", "m[2] scheduled"];
    let told = [made.as_slice(), &["m[3] scheduled", "m[4] removed at once"]].concat();
    assert_eq!(run.told(&decision), told);
    let removed = decision.actions.iter().position(|action| matches!(action, Action::Overwrite { .. }));
    let created = decision.actions.iter().position(|action| matches!(action, Action::Create { .. }));
    assert!(removed < created, "those in between are made when it turns out that they are missing");
    for (length, becomes) in [(Some(0), "m skipped at once"), (None, "m upstream_failed at once")] {
        let mut run = with_m(&mapped_over_a(), length, &there);
        let told = ["m forgotten", becomes, "m[1] removed at once", "m[4] removed at once"];
        assert_eq!(run.decided(), told);
    }
}

#[test]
fn those_that_are_made_begin_where_the_one_without_index_stood() {
    let mut run = with_m(&mapped_over_a(), 2, &[(-1, Some(TaskState::UpForReschedule))]);
    let decision = run.decide();
    let expected =
        Action::Create { task: run.task("m"), first: 1, end: 2, state: Some(TaskState::UpForReschedule) };
    assert!(decision.actions.contains(&expected), "{decision:?}");
}

#[test]
fn after_a_longer_result_the_missing_ones_are_made_and_are_ready_unseen() {
    let mut run = with_m(&mapped_over_a(), 4, &[(0, None), (2, Some(TaskState::Success))]);
    let told = ["m 1..2 made", "m 3..4 made", "m[0] scheduled", "m[1] scheduled", "m[3] scheduled"];
    assert_eq!(run.decided(), told);
    assert_eq!(run.decided(), [""; 0]);
    let mut run = with_m(&mapped_over_a(), 3, &[(0, None), (2, Some(TaskState::Success))]);
    assert_eq!(run.decided(), ["m 1..2 made", "m[0] scheduled", "m[1] scheduled"]);
}

#[test]
fn one_without_index_has_no_place_beside_the_others() {
    let mut run = with_m(&mapped_over_a(), 3, &[(-1, Some(TaskState::Success)), (1, None), (2, None)]);
    let told = ["m 0..1 made", "m removed at once", "m[0] scheduled", "m[1] scheduled", "m[2] scheduled"];
    assert_eq!(run.decided(), told);
}

#[test]
fn instances_are_not_revised_while_none_of_them_is_ready() {
    let mut run =
        with_m(&mapped_over_a(), 4, &[(0, Some(TaskState::Success)), (5, Some(TaskState::Running))]);
    assert_eq!(run.decided(), [""; 0]);
}

#[test]
fn after_a_shorter_result_those_beyond_are_removed() {
    let mut run = with_m(&mapped_over_a(), 1, &[(0, None), (1, Some(TaskState::Success)), (2, None)]);
    assert_eq!(run.decided(), ["m[0] scheduled", "m[1] removed at once", "m[2] removed at once"]);
    assert_eq!(instances_of(&run, "m")[2], (2, REMOVED));
}

#[test]
fn one_that_is_removed_before_its_turn_can_still_be_skipped() {
    let sketch = Sketch::of("a; b; m < a, b").mapped("b", items(3)).mapped("m", result_of("a"));
    let of_b = [0, 1, 2].map(|index| ("b", index, Some(TaskState::Success)));
    let of_m = [0, 1, 2].map(|index| ("m", index, None));
    let of_a = [("a", -1, Some(TaskState::Success))];
    let sketch = sketch.with("b", "_can_skip_downstream", json!(true));
    let mut run = sketch.run_with(&[of_a.as_slice(), &of_b, &of_m].concat());
    run.push("a", 2);
    run.follow("b[2]", &[]);
    assert_eq!(run.decided(), ["m[0] scheduled", "m[1] scheduled", "m[2] removed at once", "m[2] skipped"]);
    assert_eq!(run.state_of("m[2]"), Some(TaskState::Skipped));
}

#[test]
fn one_beyond_that_finds_out_itself_is_not_scheduled() {
    let mut run = with_m(&mapped_over_a(), 2, &[(0, Some(TaskState::Success)), (2, None)]);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["m 1..2 made", "m[1] scheduled", "m[2] removed at once"]);
    assert_eq!(decision.run, RunVerdict::Running);
}

#[test]
fn what_is_removed_while_all_others_are_finished_ends_the_run_an_examination_later() {
    let mut run = with_m(&mapped_over_a(), 1, &[(0, Some(TaskState::Success)), (1, None)]);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["m[1] removed at once"]);
    assert_eq!(decision.run, RunVerdict::Running);
    assert_eq!(run.decide().run, RunVerdict::Success);
}

#[test]
fn while_the_length_is_unknown_or_too_much_nothing_is_revised() {
    let mut run = with_m(&mapped_over_a(), MAX_INSTANCES + 1, &[(0, None)]);
    assert_eq!(run.decided(), ["m[0] scheduled"]);
    run.go("m[0]", None);
    run.push("a", None);
    assert_eq!(run.decided(), ["m[0] scheduled"]);
}

#[test]
fn new_instances_are_looked_at_last() {
    let sketch = Sketch::of("a; m < a; z").mapped("m", result_of("a"));
    let mut run = after_a(&sketch, 2);
    let Decision { actions, .. } = run.decide();
    let scheduled = actions.into_iter().filter_map(|action| match action {
        Action::Schedule { instance, .. } => Some(run.name(instance)),
        _ => None,
    });
    assert_eq!(scheduled.collect::<Vec<_>>(), ["z", "m[0]", "m[1]"]);
}

fn mapped_over_mapped() -> Sketch {
    Sketch::of("m; n : all_done < m").mapped("m", items(3)).mapped("n", result_of("m"))
}

#[test]
fn over_a_mapped_task_there_is_one_for_each_result_once_there_are_no_more_to_come() {
    let mut run = mapped_over_mapped().run();
    run.decide();
    results(&mut run, "m", 2);
    for (id, state) in
        [("m[0]", TaskState::Success), ("m[1]", TaskState::Success), ("m[2]", TaskState::Running)]
    {
        run.go(id, state);
    }
    assert_eq!(run.length(run.task("n")), Length::Unknown);
    assert_eq!(run.decided(), [""; 0]);
    run.go("m[2]", TaskState::Failed);
    assert_eq!(run.length(run.task("n")), Length::Known(2));
    let told = ["n 1..2 made", "n forgotten", "n[0] from unmapped", "n[0] scheduled", "n[1] scheduled"];
    assert_eq!(run.decided(), told);
}

#[test]
fn over_a_mapped_task_without_results_there_are_none() {
    let mut run = mapped_over_mapped().run();
    for id in ["m[0]", "m[1]", "m[2]"] {
        run.go(id, TaskState::Success);
    }
    assert_eq!(run.decided(), ["n forgotten", "n skipped at once"]);
}

#[test]
fn over_a_task_that_ended_without_a_result_there_is_nothing_to_run() {
    for (state, told) in [
        (TaskState::Failed, "m upstream_failed"),
        (TaskState::UpstreamFailed, "m upstream_failed"),
        (TaskState::Skipped, "m skipped"),
        (TaskState::Removed, ""),
    ] {
        let mut run = after_a(&mapped_over_a().with("m", "trigger_rule", json!("all_done")), 2);
        run.go("a", state);
        assert_eq!(run.decided().join(", "), told, "{state}");
    }
}

#[test]
fn one_failure_among_those_mapped_over_is_enough() {
    let reference = |id: &str| json!({"__type": "xcomref", "__var": {"task_id": id, "key": "return_value"}});
    for (over, by_id) in [(["a", "b"], "a, b"), (["b", "a"], "b, a")] {
        let over = arguments(&json!({"x": reference(over[0]), "y": reference(over[1])}));
        let mut run = Sketch::of("a; b; m : all_done < a, b").mapped("m", over).run();
        run.go("a", TaskState::Skipped);
        run.go("b", TaskState::Failed);
        assert_eq!(run.decided(), ["m upstream_failed"], "{by_id}");
        run.go("m", None);
        run.go("b", TaskState::Removed);
        assert_eq!(run.decided(), ["m skipped"], "{by_id}");
    }
}

#[test]
fn what_is_settled_by_the_rule_stays_so_when_what_it_is_mapped_over_was_removed() {
    let mut run = Sketch::of("a; b; m < a, b").mapped("m", result_of("a")).run();
    run.go("a", TaskState::Removed);
    run.go("b", TaskState::Skipped);
    assert_eq!(run.decided(), ["m skipped"]);
}

#[test]
fn a_failure_by_the_rule_is_not_made_a_skip() {
    let mut run = Sketch::of("a; b; m < a, b").mapped("m", result_of("a")).run();
    run.go("a", TaskState::Skipped);
    run.go("b", TaskState::Failed);
    assert_eq!(run.decided(), ["m upstream_failed"]);
}

#[test]
fn those_looked_at_later_see_that_finished_ones_were_removed() {
    let success = Some(TaskState::Success);
    let sketch = Sketch::of("s; x < s; y : one_success < x").mapped("x", result_of("s"));
    let of_x = [("x", 0, None), ("x", 1, success), ("x", 2, success)];
    let mut run = sketch.run_with(&[&[("s", -1, success)], of_x.as_slice(), &[("y", -1, None)]].concat());
    run.push("s", 1);
    assert_eq!(run.decided(), ["x[0] scheduled", "x[1] removed at once", "x[2] removed at once"]);
    assert_eq!(run.decided(), [""; 0]);
    run.go("x[0]", TaskState::Success);
    assert_eq!(run.decided(), ["y scheduled"]);
}

#[test]
fn a_run_ends_in_the_examination_after_one_was_deleted() {
    let success = Some(TaskState::Success);
    let sketch = Sketch::of("s; x < s").mapped("x", result_of("s"));
    let mut run = sketch.run_with(&[("s", -1, success), ("x", -1, None), ("x", 0, success)]);
    run.push("s", 1);
    let decision = run.decide();
    assert_eq!(run.told(&decision), ["x deleted", "x forgotten"]);
    assert_eq!(decision.run, RunVerdict::Running);
    assert_eq!(run.decide().run, RunVerdict::Success);
}
