//! Airflow's hash of a serialized DAG, by which it tells whether the DAG changed.
//!
//! It is the MD5 of the document, written by Python's rules with sorted keys, without `dag.fileloc`. A list of
//! nothing but strings is sorted, and so is a list of tasks. Reordering such a list is therefore no change.

use std::borrow::Cow;

use md5::{Digest as _, Md5};

use super::lexical::{Node, write_list, write_object, write_text};

/// A text with a hole where the ids of the deadlines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    before: String,
    after: String,
}

impl Split {
    /// The text with this in the hole.
    pub(super) fn filled(&self, hole: &str) -> String {
        [&self.before, hole, &self.after].concat()
    }
}

/// The MD5 of a text: 32 hexadecimal digits.
pub fn md5_hex(text: &str) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
    Md5::digest(text).iter().flat_map(digits).collect()
}

/// The text that is hashed.
pub(super) fn hashed_text(document: &Node<'_>) -> String {
    let mut out = String::new();
    write_document(&mut out, document, &|out, value| write_sorted(out, value));
    out
}

/// The same with a hole in the place of `dag.deadline`.
pub(super) fn hashed_text_around_deadlines(document: &Node<'_>) -> Split {
    let hole = std::cell::Cell::new(0);
    let mut out = String::new();
    write_document(&mut out, document, &|out, _| hole.set(out.len()));
    let after = out.split_off(hole.get());
    Split { before: out, after }
}

/// The document as it is, with a hole in the place of `dag.deadline`.
pub(super) fn text_around_deadlines(document: &Node<'_>) -> Split {
    let hole = std::cell::Cell::new(0);
    let mut out = String::new();
    write_entries(&mut out, document, entries_in_order, &|out, key, value| match key {
        "dag" => write_entries(out, value, entries_in_order, &|out, key, value| match key {
            "deadline" => hole.set(out.len()),
            _ => value.write(out),
        }),
        _ => value.write(out),
    });
    let after = out.split_off(hole.get());
    Split { before: out, after }
}

fn write_document(out: &mut String, document: &Node<'_>, write_deadlines: &dyn Fn(&mut String, &Node<'_>)) {
    write_entries(out, document, sorted_entries, &|out, key, value| match key {
        "dag" => {
            let without_place = |dag| {
                let mut entries = sorted_entries(dag);
                entries.retain(|(key, _)| *key != "fileloc");
                entries
            };
            write_entries(out, value, without_place, &|out, key, value| match key {
                "deadline" => write_deadlines(out, value),
                _ => write_sorted(out, value),
            });
        }
        _ => write_sorted(out, value),
    });
}

fn write_sorted(out: &mut String, node: &Node<'_>) {
    match node {
        Node::Word(_) | Node::Text(_) => node.write(out),
        Node::List(items) => {
            let mut items: Vec<&Node<'_>> = items.iter().collect();
            // A stable sort: what has no key, or the same, stays where it is.
            if items.iter().all(|item| item.as_text().is_some()) {
                items.sort_by_key(|item| item.as_text());
            } else if items.iter().all(|item| task_id(item).is_some()) {
                items.sort_by_key(|item| task_id(item));
            }
            write_list(out, items, |out, item| write_sorted(out, item));
        }
        Node::Object(_) => {
            write_entries(out, node, sorted_entries, &|out, _, value| write_sorted(out, value));
        }
    }
}

fn task_id<'n>(item: &'n Node<'_>) -> Option<&'n str> {
    item.get("__var")?.get("task_id")?.as_text()
}

type Entry<'n, 't> = (&'n str, &'n Node<'t>);

/// Writes the entries of an object that `select` picks, their values by `write`.
fn write_entries<'n, 't>(
    out: &mut String,
    object: &'n Node<'t>,
    select: impl FnOnce(&'n Node<'t>) -> Vec<Entry<'n, 't>>,
    write: &dyn Fn(&mut String, &str, &Node<'_>),
) {
    write_object(out, select(object), |out, (key, value)| {
        write_text(out, key);
        out.push_str(": ");
        write(out, key, value);
    });
}

fn entries_in_order<'n, 't>(object: &'n Node<'t>) -> Vec<Entry<'n, 't>> {
    let Node::Object(entries) = object else { return Vec::new() };
    entries.iter().map(|(key, value): &(Cow<'_, str>, _)| (&**key, value)).collect()
}

/// By the code points of the keys, which is the order of their UTF-8 bytes.
fn sorted_entries<'n, 't>(object: &'n Node<'t>) -> Vec<Entry<'n, 't>> {
    let mut entries = entries_in_order(object);
    // The last of equal keys counts.
    entries.reverse();
    entries.sort_by_key(|(key, _)| *key);
    entries.dedup_by_key(|(key, _)| *key);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    fn text(document: &str) -> String {
        hashed_text(&Node::read(&Json::from_text(document.to_owned()).unwrap()).unwrap())
    }

    #[test]
    fn keys_strings_and_tasks_are_sorted_and_other_lists_are_not() {
        assert_eq!(
            text(
                r#"{"dag": {"z": ["b", "a", "é", "Z"], "a": [2, 1, "x"], "fileloc": "/x",
                "tasks": [{"__var": {"task_id": "t2"}}, {"__var": {"x": [[2], [1]], "task_id": "t1"}}],
                "mixed": [{"__var": {"task_id": "b"}}, {"a": 1}]}, "__version": 3}"#
            ),
            concat!(
                r#"{"__version": 3, "dag": {"a": [2, 1, "x"], "#,
                r#""mixed": [{"__var": {"task_id": "b"}}, {"a": 1}], "#,
                r#""tasks": [{"__var": {"task_id": "t1", "x": [[2], [1]]}}, {"__var": {"task_id": "t2"}}], "#,
                r#""z": ["Z", "a", "b", "\u00e9"]}}"#
            )
        );
    }

    #[test]
    fn only_the_place_of_the_dag_itself_is_left_out() {
        assert_eq!(
            text(r#"{"fileloc": 1, "dag": {"fileloc": 2, "x": {"fileloc": 3}}}"#),
            r#"{"dag": {"x": {"fileloc": 3}}, "fileloc": 1}"#
        );
    }

    #[test]
    fn astral_characters_come_after_the_rest_as_they_do_in_python() {
        // By UTF-16 units U+1F600 would come before U+FF21.
        assert_eq!(text(r#"{"dag": {"😀": 1, "Ａ": 2}}"#), r#"{"dag": {"\uff21": 2, "\ud83d\ude00": 1}}"#);
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        assert_eq!(text(r#"{"dag": {"a": 1, "a": 2}}"#), r#"{"dag": {"a": 2}}"#);
    }

    #[test]
    fn the_hole_takes_the_deadlines() {
        let json = Json::from_text(r#"{"dag": {"z": 1, "deadline": [{}], "a": 2}}"#.to_owned()).unwrap();
        let node = Node::read(&json).unwrap();
        assert_eq!(
            hashed_text_around_deadlines(&node).filled("[]"),
            r#"{"dag": {"a": 2, "deadline": [], "z": 1}}"#
        );
        assert_eq!(text_around_deadlines(&node).filled("[]"), r#"{"dag": {"z": 1, "deadline": [], "a": 2}}"#);
    }

    #[test]
    fn md5_is_the_usual_one() {
        assert_eq!(md5_hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
    }
}
