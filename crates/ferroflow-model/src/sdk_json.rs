//! How Airflow's task SDK writes values as JSON.
//!
//! Dicts, lists and primitives stand bare; anything else is an object that names its class. `next_kwargs` of task
//! instances and the arguments of triggers are written so. What Airflow's server keeps in columns of its own is
//! [`extended_json`](crate::extended_json) instead.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A time, in UTC.
pub fn time(time: Timestamp) -> Value {
    object("datetime.datetime", 2, &json!({"timestamp": seconds(time), "tz": utc()}))
}

/// The seconds since 1970 of a time, as Python has them.
#[expect(clippy::cast_precision_loss, reason = "Python has the same float")]
pub fn seconds(time: Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1e6
}

/// A value that is not written here: the name of its type, in the encoding that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherType(pub String);

impl fmt::Display for OtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {} can only be handed over by Python", self.0)
    }
}

/// Writes anew what is in the server's encoding.
pub fn of_extended(value: &Value) -> Result<Value, OtherType> {
    let entries = match value {
        Value::Array(items) => return items.iter().map(of_extended).collect(),
        Value::Object(entries) => entries,
        primitive => return Ok(primitive.clone()),
    };
    let kind = entries.get("__type").and_then(Value::as_str).unwrap_or("dict without an envelope");
    let other = || OtherType(kind.to_owned());
    let inside = entries.get("__var").ok_or_else(other)?;
    match (kind, inside) {
        ("dict", Value::Object(inside)) => {
            let written = inside.iter().map(|(key, value)| Ok((key.clone(), of_extended(value)?)));
            Ok(Value::Object(written.collect::<Result<Map<_, _>, _>>()?))
        }
        ("datetime", Value::Number(timestamp)) => {
            Ok(object("datetime.datetime", 2, &json!({"timestamp": timestamp, "tz": utc()})))
        }
        ("timedelta", Value::Number(seconds)) => Ok(object("datetime.timedelta", 2, &json!(seconds))),
        ("tuple", Value::Array(_)) => Ok(object("builtins.tuple", 1, &of_extended(inside)?)),
        ("set", Value::Array(_)) => Ok(object("builtins.set", 1, &of_extended(inside)?)),
        _ => Err(other()),
    }
}

/// Writes in the server's encoding what is in this one.
pub fn to_extended(value: &Value) -> Result<Value, OtherType> {
    let entries = match value {
        Value::Array(items) => return items.iter().map(to_extended).collect(),
        Value::Object(entries) => entries,
        primitive => return Ok(primitive.clone()),
    };
    let Some(class) = entries.get("__classname__").and_then(Value::as_str) else {
        let written = entries.iter().map(|(key, value)| Ok((key.clone(), to_extended(value)?)));
        let written = written.collect::<Result<Map<_, _>, _>>()?;
        return Ok(json!({"__var": written, "__type": "dict"}));
    };
    let data = entries.get("__data__").unwrap_or(&Value::Null);
    match (class, data) {
        ("datetime.datetime" | "pendulum.datetime.DateTime", Value::Object(data)) => {
            let at = data.get("timestamp").filter(|at| at.is_number());
            let at = at.ok_or_else(|| OtherType(class.to_owned()))?;
            Ok(json!({"__var": at, "__type": "datetime"}))
        }
        ("datetime.timedelta", Value::Number(seconds)) => {
            Ok(json!({"__var": seconds, "__type": "timedelta"}))
        }
        ("builtins.tuple", Value::Array(_)) => Ok(json!({"__var": to_extended(data)?, "__type": "tuple"})),
        ("builtins.set", Value::Array(_)) => Ok(json!({"__var": to_extended(data)?, "__type": "set"})),
        _ => Err(OtherType(class.to_owned())),
    }
}

fn utc() -> Value {
    object("builtins.tuple", 1, &json!(["UTC", "pendulum.tz.timezone.Timezone", 1, true]))
}

fn object(class: &str, version: u8, data: &Value) -> Value {
    json!({"__classname__": class, "__version__": version, "__data__": data})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extended_json;

    #[test]
    fn plain_values_stand_bare() {
        let plain = json!({"a": [1, {"b": null}], "c": 1.5, "d": {}});
        assert_eq!(of_extended(&extended_json::encode(&plain)), Ok(plain));
    }

    #[test]
    fn a_time_is_the_same_in_both_encodings() {
        let at = Timestamp::constant(1_767_323_045, 678_901_000);
        let stored = json!({"__var": {"at": {"__var": seconds(at), "__type": "datetime"}}, "__type": "dict"});
        assert_eq!(of_extended(&stored), Ok(json!({"at": time(at)})));
        assert_eq!(time(at)["__data__"]["timestamp"], json!(1_767_323_045.678_901));
    }

    #[test]
    fn what_is_in_a_tuple_or_a_set_is_written_too() {
        let stored = json!({"__type": "tuple", "__var": [1, {"__type": "set", "__var": [2]}]});
        let set = json!({"__classname__": "builtins.set", "__version__": 1, "__data__": [2]});
        let tuple = json!({"__classname__": "builtins.tuple", "__version__": 1, "__data__": [1, set]});
        assert_eq!(of_extended(&stored), Ok(tuple));
    }

    #[test]
    fn both_encodings_have_the_same_values() {
        let at = Timestamp::constant(1_767_323_045, 678_901_000);
        let tuple = object("builtins.tuple", 1, &json!([1, object("builtins.set", 1, &json!([2]))]));
        let patience = object("datetime.timedelta", 2, &json!(300.0));
        let written = json!({"at": time(at), "list": [tuple, {"in": patience}], "plain": null});
        let stored = to_extended(&written).unwrap();
        assert_eq!(stored["__var"]["at"], json!({"__var": seconds(at), "__type": "datetime"}));
        assert_eq!(of_extended(&stored), Ok(written));
        let other = object("somebody.Class", 1, &json!({}));
        assert_eq!(to_extended(&json!({"a": [other]})), Err(OtherType("somebody.Class".to_owned())));
    }

    #[test]
    fn what_only_python_can_hand_over_is_named() {
        for stored in
            [json!({"__type": "k8s.V1Pod", "__var": {}}), json!([{"__type": "k8s.V1Pod", "__var": 1}])]
        {
            assert_eq!(of_extended(&stored), Err(OtherType("k8s.V1Pod".to_owned())));
        }
        assert!(of_extended(&json!({"a": 1})).is_err());
    }
}
