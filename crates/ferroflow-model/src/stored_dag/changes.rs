//! What made a DAG another version: where two documents differ.

use super::lexical::Node;
use crate::Json;

/// Looks this deep: far enough to name the field of a task.
const MAX_STEPS: usize = 4;

/// The places at which two documents differ, at most `limit` of them: `dag.tasks[extract].retries`. A reader whose
/// DAG gets a new version at every parse finds here which value is never the same.
pub fn changed_paths(old: &Json, new: &Json, limit: usize) -> Vec<String> {
    let mut search = Search { limit, found: Vec::new() };
    match (Node::read(old), Node::read(new)) {
        (Some(old), Some(new)) => search.compare(&old, &new, String::new(), 0),
        _ => search.found.push("document".to_owned()),
    }
    search.found
}

struct Search {
    limit: usize,
    found: Vec<String>,
}

impl Search {
    fn compare(&mut self, old: &Node<'_>, new: &Node<'_>, path: String, steps: usize) {
        if self.found.len() >= self.limit || is_same(old, new) {
            return;
        }
        match (inside(old), inside(new)) {
            (Some(old), Some(new)) if steps < MAX_STEPS => self.compare_entries(&old, &new, &path, steps),
            _ => self.found.push(if path.is_empty() { "document".to_owned() } else { path }),
        }
    }

    fn compare_entries(&mut self, old: &[Entry<'_>], new: &[Entry<'_>], path: &str, steps: usize) {
        let nothing = Node::Word("null");
        let gone = old.iter().filter(|(step, _)| !new.iter().any(|(other, _)| other == step));
        let here = new.iter().map(|(step, new)| {
            let old = old.iter().find(|(other, _)| other == step).map_or(&nothing, |(_, old)| *old);
            (step, old, *new)
        });
        for (step, old, new) in here.chain(gone.map(|(step, old)| (step, *old, &nothing))) {
            // Where a file lies on one host is no part of the hash.
            if path == "dag" && step == ".fileloc" {
                continue;
            }
            let place = format!("{path}{step}");
            self.compare(old, new, place.trim_start_matches('.').to_owned(), steps + 1);
        }
    }
}

/// Whether two values mean the same. A database may have put the keys of objects into another order, and written numbers
/// in another way.
fn is_same(old: &Node<'_>, new: &Node<'_>) -> bool {
    match (old, new) {
        (Node::Word(one), Node::Word(other)) => {
            one == other || one.parse::<f64>().is_ok_and(|number| other.parse() == Ok(number))
        }
        (Node::List(one), Node::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Node::Object(one), Node::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| new.get(key).is_some_and(|other| is_same(one, other)))
        }
        (one, other) => one == other,
    }
}

type Entry<'n> = (String, &'n Node<'n>);

/// The entries of an object, or of a list of tasks, each under its step. What an envelope holds stands in its
/// place.
fn inside<'n>(node: &'n Node<'n>) -> Option<Vec<Entry<'n>>> {
    match node.get("__var").unwrap_or(node) {
        Node::Object(entries) => {
            Some(entries.iter().map(|(key, value)| (format!(".{key}"), value)).collect())
        }
        Node::List(items) if !items.is_empty() => {
            items.iter().map(|item| Some((format!("[{}]", task_id(item)?), item))).collect()
        }
        _ => None,
    }
}

fn task_id<'n>(item: &'n Node<'n>) -> Option<&'n str> {
    item.get("__var")?.get("task_id")?.as_text()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn paths(old: Value, new: Value) -> Vec<String> {
        changed_paths(&Json::from(old), &Json::from(new), 5)
    }

    fn tasks(tasks: &[(&str, i32)]) -> Value {
        let list: Vec<Value> = tasks
            .iter()
            .map(|(id, retries)| json!({"__type": "operator", "__var": {"task_id": id, "retries": retries}}))
            .collect();
        json!({"dag": {"tasks": list}})
    }

    #[test]
    fn the_field_of_a_task_is_named() {
        assert_eq!(
            paths(tasks(&[("a", 1), ("b", 1)]), tasks(&[("b", 2), ("a", 1)])),
            ["dag.tasks[b].retries"]
        );
        assert_eq!(
            paths(tasks(&[("a", 1)]), tasks(&[("b", 1)])),
            ["dag.tasks[b]", "dag.tasks[a]"],
            "one came, one went"
        );
    }

    #[test]
    fn fields_that_came_went_or_changed_are_named_and_equal_ones_are_not() {
        let old = json!({"dag": {"same": [1], "gone": 1, "list": [1, 2], "fileloc": "/a"}, "__version": 3});
        let new = json!({"dag": {"same": [1], "came": 2, "list": [2, 1], "fileloc": "/b"}, "__version": 3});
        assert_eq!(paths(old, new), ["dag.came", "dag.list", "dag.gone"]);
    }

    #[test]
    fn what_a_database_has_written_in_another_way_is_the_same() {
        let old =
            r#"{"dag": {"list": [{"a": 1, "b": {"c": 1e-05, "d": 1e16}}], "x": {"k": 1, "l": 2.0}, "y": 1}}"#;
        let new = r#"{"dag": {"y": 2, "x": {"l": 2.0, "k": 1}, "list": [{"b": {"d": 10000000000000000, "c": 0.00001}, "a": 1}]}}"#;
        let json = |text: &str| Json::from_text(text.to_owned()).unwrap();
        assert_eq!(changed_paths(&json(old), &json(new), 5), ["dag.y"]);
    }

    #[test]
    fn there_is_an_end_to_it() {
        let many = |value: i32| Value::Object((0..50).map(|n| (format!("k{n}"), json!(value))).collect());
        assert_eq!(paths(many(1), many(2)).len(), 5);
        assert_eq!(paths(json!(1), json!(2)), ["document"]);
    }
}
