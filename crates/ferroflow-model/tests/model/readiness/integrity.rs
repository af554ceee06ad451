//! Which instances a run begins with, and what it is asked when its DAG has changed.

use std::ops::Range;

use ferroflow_model::readiness::{MAX_INSTANCES, Reconciliation, Run, first_instances, reconcile};
use ferroflow_model::state::{RunType, TaskState};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::readiness::sketch::{ByName, NOW, Sketch, items, result_of};

const SECOND: SignedDuration = SignedDuration::from_secs(1);

fn first(sketch: &Sketch, run_type: RunType, date: Option<Timestamp>) -> Vec<(String, Range<i32>)> {
    let dag = sketch.dag();
    let first = first_instances(&dag, run_type, date);
    first.into_iter().map(|(task, indexes)| (dag[task].task_id.to_string(), indexes)).collect()
}

fn indexes_of_m(sketch: &Sketch) -> Range<i32> {
    let all = first(sketch, RunType::Manual, None);
    all.into_iter().find(|(id, _)| id == "m").unwrap().1
}

#[test]
fn a_run_begins_with_one_instance_of_each_task() {
    let all = first(&Sketch::of("b; a < b"), RunType::Scheduled, Some(NOW));
    assert_eq!(all, [("b".to_owned(), -1..0), ("a".to_owned(), -1..0)]);
}

#[test]
fn a_task_takes_part_from_its_start_to_its_end() {
    let sketch = Sketch::of("a").with("a", "start_date", json!(NOW.as_second()));
    let sketch = sketch.with("a", "end_date", json!(NOW.as_second() + 10));
    for (offset, takes_part) in [(-1, false), (0, true), (10, true), (11, false)] {
        let date = Some(NOW + SECOND * offset);
        for run_type in RunType::ALL {
            let is_there = takes_part || *run_type == RunType::Backfill;
            assert_eq!(first(&sketch, *run_type, date).len(), usize::from(is_there), "{run_type} {offset}");
        }
    }
    assert_eq!(first(&sketch, RunType::Manual, None).len(), 1, "a run about no time is about every time");
}

#[test]
fn what_the_dag_alone_can_tell_is_there_from_the_beginning() {
    let mapped = |over| Sketch::of("a; m < a").mapped("m", over);
    assert_eq!(indexes_of_m(&mapped(items(3))), 0..3);
    assert_eq!(indexes_of_m(&mapped(items(1))), 0..1);
    assert_eq!(indexes_of_m(&mapped(items(0))), -1..0, "none yet stands for none");
    assert_eq!(indexes_of_m(&mapped(result_of("a"))), -1..0);
    assert_eq!(indexes_of_m(&Sketch::of("a; m < a").grouped(&["m"], items(2))), 0..2);
    assert_eq!(indexes_of_m(&mapped(items(3)).grouped(&["m"], items(2))), 0..6);
    assert_eq!(indexes_of_m(&mapped(items(3)).grouped(&["m"], result_of("a"))), -1..0);
    assert_eq!(indexes_of_m(&mapped(result_of("a")).grouped(&["m"], items(2))), -1..0);
}

#[test]
fn more_than_the_most_are_not_made() {
    let most = usize::try_from(MAX_INSTANCES).unwrap();
    let combined = |first: usize, second: usize| {
        let lists = json!({"__type": "dict", "__var": {"x": vec![0; first], "y": vec![0; second]}});
        Sketch::of("m").mapped("m", json!({"type": "dict-of-lists", "value": lists}))
    };
    assert_eq!(indexes_of_m(&combined(1000, most / 1000)), 0..1_000_000);
    assert_eq!(indexes_of_m(&combined(1000, most / 1000 + 1)), -1..0);
}

/// In words: `m[2] removed`, `a none`, `b -1..0 made`.
fn reconciled(run: &Run, run_type: RunType) -> Vec<String> {
    let Reconciliation { changed, created } = reconcile(run, run_type);
    let changed = changed.into_iter().map(|(instance, state)| {
        format!("{} {}", run.name(instance), state.map_or("none", TaskState::as_str))
    });
    let created = created.into_iter().map(|(task, indexes)| {
        format!("{} {}..{} made", run.plan().dag()[task].task_id, indexes.start, indexes.end)
    });
    changed.chain(created).collect()
}

const REMOVED: Option<TaskState> = Some(TaskState::Removed);
const SUCCESS: Option<TaskState> = Some(TaskState::Success);

#[test]
fn a_run_that_is_as_its_dag_is_left_alone() {
    let sketch = Sketch::of("a; m < a; n < a").mapped("m", items(2)).mapped("n", result_of("a"));
    let run = sketch.run_with(&[("a", -1, SUCCESS), ("m", 0, None), ("m", 1, SUCCESS), ("n", -1, None)]);
    assert_eq!(reconciled(&run, RunType::Manual), [""; 0]);
}

#[test]
fn what_was_removed_comes_back_with_its_task() {
    let run = Sketch::of("a; b").run_with(&[("a", -1, REMOVED), ("b", -1, SUCCESS)]);
    assert_eq!(reconciled(&run, RunType::Manual), ["a none"]);
}

#[test]
fn of_a_task_that_is_not_mapped_every_index_is_left_alone() {
    let run = Sketch::of("a").run_with(&[("a", 0, SUCCESS), ("a", 5, REMOVED)]);
    assert_eq!(reconciled(&run, RunType::Manual), ["a[5] none"]);
}

#[test]
fn beyond_a_list_that_the_dag_holds_there_is_nothing() {
    let instances =
        [("m", -1, None), ("m", 0, None), ("m", 1, REMOVED), ("m", 2, SUCCESS), ("m", 3, REMOVED)];
    let run = Sketch::of("m").mapped("m", items(2)).run_with(&instances);
    assert_eq!(reconciled(&run, RunType::Manual), ["m removed", "m[1] none", "m[2] removed"]);
}

#[test]
fn a_list_of_the_dag_that_grew_makes_no_instances_here() {
    let run = Sketch::of("m").mapped("m", items(3)).run_with(&[("m", 0, None)]);
    assert_eq!(reconciled(&run, RunType::Manual), [""; 0]);
}

#[test]
fn beyond_a_result_that_is_known_there_is_nothing() {
    let sketch = Sketch::of("a; m < a").mapped("m", result_of("a"));
    let instances =
        [("a", -1, SUCCESS), ("m", -1, None), ("m", 0, None), ("m", 1, REMOVED), ("m", 2, SUCCESS)];
    let mut run = sketch.run_with(&instances);
    run.push("a", 2);
    assert_eq!(reconciled(&run, RunType::Manual), ["m[1] none", "m[2] removed"]);
}

#[test]
fn as_long_as_a_result_is_not_known_there_are_no_indexes() {
    let sketch = Sketch::of("a; m < a").mapped("m", result_of("a"));
    let instances =
        [("a", -1, None), ("m", -1, REMOVED), ("m", 0, SUCCESS), ("m", 1, REMOVED), ("m", 2, None)];
    let run = sketch.run_with(&instances);
    assert_eq!(reconciled(&run, RunType::Manual), ["m none", "m[0] removed", "m[2] removed"]);
}

#[test]
fn so_it_is_in_mapped_groups() {
    let sketch = Sketch::of("a; m < a").mapped("m", items(2)).grouped(&["m"], result_of("a"));
    let mut run = sketch.run_with(&[("a", -1, SUCCESS), ("m", 3, None), ("m", 4, None)]);
    assert_eq!(reconciled(&run, RunType::Manual), ["m[3] removed", "m[4] removed"]);
    run.push("a", 2);
    assert_eq!(reconciled(&run, RunType::Manual), ["m[4] removed"]);
}

#[test]
fn tasks_that_have_no_instance_get_those_of_a_new_run() {
    let sketch = Sketch::of("a; b; c; m; n < a")
        .with("b", "start_date", json!(NOW.as_second() + 1))
        .with("c", "end_date", json!(NOW.as_second()))
        .mapped("m", items(2))
        .mapped("n", result_of("a"));
    let run = sketch.run_with(&[("a", -1, SUCCESS)]);
    let made = ["c -1..0 made", "m 0..2 made", "n -1..0 made"];
    assert_eq!(reconciled(&run, RunType::Manual), made);
    assert_eq!(reconciled(&run, RunType::Backfill), ["b -1..0 made", made[0], made[1], made[2]]);
    let run = sketch.run_with(&[("a", -1, SUCCESS), ("c", -1, None), ("m", 0, REMOVED), ("n", -1, None)]);
    assert_eq!(reconciled(&run, RunType::Manual), ["m[0] none"]);
}
