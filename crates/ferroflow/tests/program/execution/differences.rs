//! Compares two documents, and says where they differ.

use std::fmt;

use serde_json::Value;

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The way to it, with ` / ` between its steps.
    pub(crate) place: String,
    pub(crate) theirs: String,
    pub(crate) ours: String,
}

pub(crate) fn differences(theirs: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(theirs), Some(ours), &mut found);
    found
}

fn compare(place: &str, theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    let below = |step: &str| if place.is_empty() { step.to_owned() } else { format!("{place} / {step}") };
    match (theirs, ours) {
        (Some(Value::Object(their)), Some(Value::Object(our))) => {
            for key in their.keys().chain(our.keys().filter(|key| !their.contains_key(*key))) {
                compare(&below(key), their.get(key), our.get(key), found);
            }
        }
        (Some(Value::Array(their)), Some(Value::Array(our))) if their.len() == our.len() => {
            for (number, (their, our)) in their.iter().zip(our).enumerate() {
                compare(&below(&number.to_string()), Some(their), Some(our), found);
            }
        }
        _ if theirs == ours => {}
        _ => found.push(Difference { place: place.to_owned(), theirs: short(theirs), ours: short(ours) }),
    }
}

/// A value on a line.
fn short(value: Option<&Value>) -> String {
    const LONG: usize = 600;
    let text = value.map_or("(nothing)".to_owned(), Value::to_string);
    if text.chars().count() <= LONG { text } else { text.chars().take(LONG).chain("…".chars()).collect() }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, theirs, ours } = self;
        write!(f, "{place}\n    theirs {theirs}\n    ours   {ours}")
    }
}

#[test]
fn a_difference_names_its_place() {
    let theirs = serde_json::json!({"a": {"b": [1, {"c": 2}], "d": null}, "e": [1]});
    let ours = serde_json::json!({"a": {"b": [1, {"c": 3}]}, "e": [1, 2]});
    assert_eq!(differences(&theirs, &theirs), []);
    let found: Vec<String> = differences(&theirs, &ours).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "a / b / 1 / c\n    theirs 2\n    ours   3",
            "a / d\n    theirs null\n    ours   (nothing)",
            "e\n    theirs [1]\n    ours   [1,2]"
        ]
    );
}
