//! DAGs of all shapes.

use serde_json::{Value, json};

use crate::readiness::chance::Chance;
use crate::readiness::sketch::{GroupSketch, Sketch, TaskSketch, items, result_of};

const RULES: [&str; 13] = [
    "all_success",
    "all_failed",
    "all_done",
    "all_done_min_one_success",
    "all_done_setup_success",
    "one_success",
    "one_failed",
    "one_done",
    "none_failed",
    "none_failed_min_one_success",
    "none_skipped",
    "all_skipped",
    "always",
];

/// What may wait for something outside of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    Allowed,
    Never,
}

/// A DAG with up to `most` tasks.
pub(crate) fn random_dag(chance: &mut Chance, most: usize, elsewhere: Elsewhere) -> Sketch {
    let mut sketch = Sketch::default();
    for place in 0..=chance.below(most) {
        // Ids run against the edges as often as along with them.
        let id = format!("t{:02}{place:02}", chance.below(100));
        let mut upstream: Vec<usize> = (0..place).filter(|_| chance.percent(25)).collect();
        if upstream.is_empty() && place > 0 && chance.percent(70) {
            upstream.push(chance.below(place));
        }
        sketch.tasks.push(TaskSketch { id, upstream, ..TaskSketch::default() });
    }
    for _ in 0..chance.below(3) {
        add_group(chance, &mut sketch);
    }
    for place in 0..sketch.tasks.len() {
        if chance.percent(30) {
            sketch.tasks[place].expand = Some(expand(chance, &mut sketch, place));
        }
        add_fields(chance, &mut sketch.tasks[place], elsewhere);
    }
    sketch.setting("catchup", json!(chance.percent(50)))
}

/// A group around a stretch of tasks that share the group around them.
fn add_group(chance: &mut Chance, sketch: &mut Sketch) {
    let number = sketch.tasks.len();
    let start = chance.below(number);
    let parent = sketch.tasks[start].group;
    let group = sketch.groups.len();
    let expand = chance.percent(80).then(|| expand(chance, sketch, start));
    sketch.groups.push(GroupSketch { parent, expand: expand.clone() });
    let sources: Vec<usize> = expand.iter().flat_map(|_| sketch.tasks[start].upstream.clone()).collect();
    for place in start..(start + 1 + chance.below(4)).min(number) {
        if sketch.tasks[place].group == parent {
            sketch.tasks[place].group = Some(group);
            // Whoever is in a mapped group waits for what the group is mapped over.
            for source in &sources {
                if !sketch.tasks[place].upstream.contains(source) && *source < place {
                    sketch.tasks[place].upstream.push(*source);
                }
            }
        }
    }
}

/// Over a list, or over the result of a task, which is then upstream.
fn expand(chance: &mut Chance, sketch: &mut Sketch, place: usize) -> Value {
    if place == 0 || chance.percent(40) {
        return items(chance.below(5));
    }
    let source = chance.below(place);
    if sketch.groups.iter().any(|group| group.expand.is_some())
        && sketch.tasks[source].group.is_some()
        && chance.percent(70)
    {
        return items(1 + chance.below(3));
    }
    if !sketch.tasks[place].upstream.contains(&source) {
        sketch.tasks[place].upstream.push(source);
    }
    result_of(&sketch.tasks[source].id)
}

fn add_fields(chance: &mut Chance, task: &mut TaskSketch, elsewhere: Elsewhere) {
    let mut set = |field: &str, value: Value| task.fields.insert(field.to_owned(), value);
    if chance.percent(50) {
        set("trigger_rule", json!(chance.pick(&RULES)));
    }
    match chance.below(100) {
        0..15 => {
            set("is_setup", json!(true));
        }
        15..28 => {
            set("is_teardown", json!(true));
            set("on_failure_fail_dagrun", json!(chance.percent(30)));
            set("trigger_rule", json!("all_done_setup_success"));
        }
        _ => {}
    }
    if chance.percent(20) {
        set("_is_empty", json!(true));
    }
    if chance.percent(20) {
        set("_can_skip_downstream", json!(true));
    }
    if chance.percent(10) {
        set("_is_sensor", json!(true));
    }
    if chance.percent(3) {
        // It takes no part, and whoever waits for it waits forever.
        set("end_date", json!(0.0));
    }
    if elsewhere == Elsewhere::Allowed && chance.percent(10) {
        set("depends_on_past", json!(true));
        set("wait_for_downstream", json!(chance.percent(50)));
        set("ignore_first_depends_on_past", json!(chance.percent(50)));
    }
    if elsewhere == Elsewhere::Allowed && chance.percent(5) {
        set("max_active_tis_per_dag", json!(1));
    }
}
