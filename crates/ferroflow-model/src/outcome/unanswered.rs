//! Task instances that wait for a person, and have for too long.

use std::fmt;

use serde_json::{Value, json};

use crate::{Json, sdk_json};

/// What a task instance asks, as far as that decides what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Whether it has been answered after all.
    pub is_answered: bool,
    /// What is chosen if it has not: a list.
    pub defaults: Option<Value>,
    /// What can be filled in, each with its default.
    pub params: Value,
}

/// What becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Unanswered {
    /// It goes on with the answer.
    Answered,
    /// It goes on with the default choice.
    ByDefault {
        /// The options.
        chosen_options: Value,
        /// What is filled in.
        params_input: Value,
    },
    /// It is told that it was not answered, and fails by itself.
    Nobody,
}

/// What becomes of a task instance whose time to be answered is over; `asked` is missing if its question is.
pub fn unanswered(asked: Option<&Asked>) -> Unanswered {
    match asked {
        Some(Asked { is_answered: true, .. }) => Unanswered::Answered,
        Some(Asked { defaults: Some(defaults), params, .. }) => {
            Unanswered::ByDefault { chosen_options: defaults.clone(), params_input: filled_in(params) }
        }
        Some(Asked { defaults: None, .. }) | None => Unanswered::Nobody,
    }
}

/// A param may be its value, or an object that has it.
fn filled_in(params: &Value) -> Value {
    let value = |param: &Value| param.get("value").cloned().unwrap_or_else(|| param.clone());
    let entries = params.as_object().cloned().unwrap_or_default();
    Value::Object(entries.iter().map(|(key, param)| (key.clone(), value(param))).collect())
}

/// What a task is told whose question was not answered.
pub fn nobody() -> Value {
    json!({"error": "Nobody has answered in time.", "error_type": "timeout"})
}

/// Why a task instance cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotGoOn;

impl fmt::Display for CannotGoOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what is stored of the arguments that the task is to go on with cannot be read")
    }
}

/// The arguments that a task instance goes on with: those that it left, and what has happened.
///
/// What an older Airflow left is in the server's encoding, which the task is not told any more: it is written anew.
pub fn with_event(left: Option<&Json>, event: Value) -> Result<Json, CannotGoOn> {
    let left = left.map_or_else(|| Ok(json!({})), Json::value).map_err(|_| CannotGoOn)?;
    let Value::Object(mut entries) = plain(left)? else { return Err(CannotGoOn) };
    entries.insert("event".to_owned(), event);
    Ok(Json::from(Value::Object(entries)))
}

fn plain(left: Value) -> Result<Value, CannotGoOn> {
    let is_of_server = left.get("__type").is_some() && left.get("__var").is_some();
    let plain = if is_of_server { sdk_json::of_extended(&left).map_err(|_| CannotGoOn)? } else { left };
    // An object of some class is no dict of arguments.
    if plain.get("__classname__").is_some() { Err(CannotGoOn) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extended_json;

    fn asked(is_answered: bool, defaults: Option<Value>) -> Asked {
        let params = json!({"a": {"value": 1, "schema": {}}, "b": 2, "c": {"d": 3}});
        Asked { is_answered, defaults, params }
    }

    #[test]
    fn an_answer_counts_for_more_than_defaults_and_these_for_more_than_nothing() {
        assert_eq!(unanswered(Some(&asked(true, Some(json!(["x"]))))), Unanswered::Answered);
        let by_default = Unanswered::ByDefault {
            chosen_options: json!(["x"]),
            params_input: json!({"a": 1, "b": 2, "c": {"d": 3}}),
        };
        assert_eq!(unanswered(Some(&asked(false, Some(json!(["x"]))))), by_default);
        assert_eq!(unanswered(Some(&asked(false, None))), Unanswered::Nobody);
        assert_eq!(unanswered(None), Unanswered::Nobody);
    }

    #[test]
    fn what_happened_is_added_to_what_was_left() {
        let event = || json!({"x": 1});
        let json = |value| Json::from(value);
        assert_eq!(with_event(None, event()), Ok(json(json!({"event": {"x": 1}}))));
        let left = json(json!({"a": [1], "event": "old"}));
        assert_eq!(with_event(Some(&left), event()), Ok(json(json!({"a": [1], "event": {"x": 1}}))));
        let old = json(extended_json::encode(&json!({"a": {"b": 1}})));
        assert_eq!(with_event(Some(&old), event()), Ok(json(json!({"a": {"b": 1}, "event": {"x": 1}}))));
    }

    #[test]
    fn what_cannot_be_read_is_no_way_to_go_on() {
        let pod = json!({"__type": "dict", "__var": {"pod": {"__type": "k8s.V1Pod", "__var": {}}}});
        let object = json!({"__classname__": "a.Class", "__version__": 1, "__data__": {}});
        for left in [json!([1]), json!("text"), json!({"__type": "set", "__var": [1]}), pod, object] {
            assert_eq!(with_event(Some(&Json::from(left)), json!(1)), Err(CannotGoOn));
        }
    }
}
