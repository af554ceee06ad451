//! Compares two sets of rows, and says in which value of which row they differ.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// What tells rows of a table apart, in this order, as far as the table has it.
const IDENTITY: [&str; 13] = [
    "dag_id",
    "task_id",
    "dag_version_id",
    "serialized_dag_id",
    "version_number",
    "name",
    "uri",
    "owner",
    "asset_id",
    "alias_id",
    "filename",
    "warning_type",
    "decrypted kwargs",
];

/// In place of the column of a row that only one side has.
pub(crate) const ONLY_THEIRS: &str = "(a row of theirs)";
pub(crate) const ONLY_OURS: &str = "(a row of ours)";

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) table: String,
    /// What tells the row apart from others.
    pub(crate) row: String,
    /// The column, and the way into a document; or [`ONLY_THEIRS`], or [`ONLY_OURS`].
    pub(crate) column: String,
    theirs: String,
    ours: String,
}

/// Where two sets of rows, by table, differ.
pub(crate) fn differences(theirs: &Value, ours: &Value) -> Vec<Difference> {
    let tables = theirs.as_object().expect("tables have names");
    let mut found = Vec::new();
    for (table, rows) in tables {
        let (theirs, ours) = (by_identity(rows), by_identity(&ours[table]));
        for row in theirs.keys().chain(ours.keys().filter(|row| !theirs.contains_key(*row))) {
            let mut add = |column: &str, theirs: &Value, ours: &Value| {
                found.push(Difference {
                    table: table.clone(),
                    row: row.clone(),
                    column: column.to_owned(),
                    theirs: short(theirs),
                    ours: short(ours),
                });
            };
            match (theirs.get(row), ours.get(row)) {
                (Some(theirs), Some(ours)) => compare("", theirs, ours, &mut add),
                (Some(theirs), None) => add(ONLY_THEIRS, theirs, &Value::Null),
                (None, Some(ours)) => add(ONLY_OURS, &Value::Null, ours),
                (None, None) => {}
            }
        }
    }
    found
}

/// Rows of one identity are numbered.
fn by_identity(rows: &Value) -> BTreeMap<String, Value> {
    let mut named = BTreeMap::new();
    for row in rows.as_array().expect("a table has rows") {
        let identity: Vec<String> = IDENTITY.iter().filter_map(|column| row.get(column)).map(plain).collect();
        let identity = identity.join(" / ");
        let number = (0..=named.len()).find(|number| !named.contains_key(&numbered(&identity, *number)));
        named.insert(numbered(&identity, number.expect("there are no more rows than numbers")), row.clone());
    }
    named
}

fn numbered(identity: &str, number: usize) -> String {
    if number == 0 { identity.to_owned() } else { format!("{identity} #{number}") }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn compare(path: &str, theirs: &Value, ours: &Value, add: &mut impl FnMut(&str, &Value, &Value)) {
    match (theirs, ours) {
        (Value::Object(their), Value::Object(our)) => {
            for key in their.keys().chain(our.keys().filter(|key| !their.contains_key(*key))) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(
                    &path,
                    their.get(key).unwrap_or(&Value::Null),
                    our.get(key).unwrap_or(&Value::Null),
                    add,
                );
            }
        }
        (Value::Array(their), Value::Array(our)) if their.len() == our.len() => {
            for (number, (their, our)) in their.iter().zip(our).enumerate() {
                compare(&format!("{path}.{number}"), their, our, add);
            }
        }
        _ if theirs == ours => {}
        _ => add(path, theirs, ours),
    }
}

/// A value on a line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 300 { text } else { text.chars().take(300).chain("…".chars()).collect() }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, row, column, theirs, ours } = self;
        write!(f, "{table} [{row}] {column}\n    theirs {theirs}\n    ours   {ours}")
    }
}

#[test]
fn a_difference_names_the_row_and_the_value() {
    let rows = |tag: &str, more: bool| {
        let mut rows = serde_json::json!({"dag": [{"dag_id": "a", "data": {"tags": ["x", tag]}}]});
        if more {
            rows["dag"].as_array_mut().unwrap().push(serde_json::json!({"dag_id": "b"}));
        }
        rows
    };
    assert_eq!(differences(&rows("y", true), &rows("y", true)), []);
    let found: Vec<String> =
        differences(&rows("y", false), &rows("z", true)).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "dag [a] data.tags.1\n    theirs \"y\"\n    ours   \"z\"",
            "dag [b] (a row of ours)\n    theirs null\n    ours   {\"dag_id\":\"b\"}"
        ]
    );
}
