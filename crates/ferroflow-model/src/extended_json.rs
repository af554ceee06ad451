//! Airflow's ExtendedJSON: JSON in which every dict is wrapped in an envelope that names its type.
//!
//! The columns `context_carrier` of runs and task instances, `callback.data` and `task_map.keys` hold it. A
//! dict is `{"__var": {…}, "__type": "dict"}`, recursively; primitives and lists stand bare. Other types (a
//! datetime, a set, a pod) have envelopes of their own.

use serde_json::{Map, Value};

const VAR: &str = "__var";
const TYPE: &str = "__type";

/// Wraps plain JSON. An object that already is an envelope (of a datetime, say) is taken for a dict that
/// happens to have these keys, as Airflow does.
pub fn encode(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let inner: Map<String, Value> =
                entries.iter().map(|(key, value)| (key.clone(), encode(value))).collect();
            envelope(Value::Object(inner), "dict")
        }
        Value::Array(items) => Value::Array(items.iter().map(encode).collect()),
        primitive => primitive.clone(),
    }
}

/// Unwraps dicts, lists and primitives. An envelope of any other type stays as it is, so that nothing is
/// lost: code that knows the type decodes it.
pub fn decode(value: &Value) -> Value {
    match value {
        Value::Object(entries) => match (entries.get(TYPE).and_then(Value::as_str), entries.get(VAR)) {
            (Some("dict"), Some(Value::Object(inner))) => {
                Value::Object(inner.iter().map(|(key, value)| (key.clone(), decode(value))).collect())
            }
            _ => value.clone(),
        },
        Value::Array(items) => Value::Array(items.iter().map(decode).collect()),
        primitive => primitive.clone(),
    }
}

fn envelope(var: Value, type_name: &str) -> Value {
    let mut map = Map::with_capacity(2);
    map.insert(VAR.to_owned(), var);
    map.insert(TYPE.to_owned(), Value::from(type_name));
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dicts_are_wrapped_at_every_depth() {
        assert_eq!(
            encode(&json!({"a": [1, {"b": null}], "c": "x"})),
            json!({"__var": {"a": [1, {"__var": {"b": null}, "__type": "dict"}], "c": "x"}, "__type": "dict"})
        );
    }

    #[test]
    fn decoding_is_the_inverse_of_encoding() {
        for value in
            [json!(null), json!([]), json!({}), json!({"a": {"b": [{"c": 1.5}, true]}}), json!("text")]
        {
            assert_eq!(decode(&encode(&value)), value);
        }
    }

    #[test]
    fn an_envelope_of_another_type_survives() {
        let inside = json!({"__var": 1_700_000_000.0, "__type": "datetime"});
        let stored = json!({"__var": {"at": inside}, "__type": "dict"});
        assert_eq!(decode(&stored), json!({"at": inside}));
    }
}
