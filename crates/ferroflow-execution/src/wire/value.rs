//! Values in the form that frames carry.

use ferroflow_model::Json;
use ferroflow_python::Answer;
use jiff::Timestamp;
use rmpv::Value;

use crate::Refusal;

/// The type of msgpack's timestamps.
const TIMESTAMP: i8 = -1;

/// A map with these keys.
pub(super) fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.map(|(key, value)| (key.into(), value)).into())
}

/// A body of this `type`, which follows on its fields.
pub(super) fn body<const N: usize>(kind: &str, fields: [(&str, Value); N]) -> Answer {
    let mut entries: Vec<(Value, Value)> = fields.map(|(key, value)| (key.into(), value)).into();
    entries.push(("type".into(), kind.into()));
    Answer::Body(Value::Map(entries))
}

/// What takes the place of a result.
pub(super) fn error_response(error: &str, detail: Value) -> Value {
    map([("error", error.into()), ("detail", detail), ("type", "ErrorResponse".into())])
}

/// Nil, or the value.
pub(super) fn optional<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(Value::Nil, Into::into)
}

/// Nil, or msgpack's timestamp of 12 bytes, which holds any time.
pub(super) fn time(value: Option<Timestamp>) -> Value {
    let Some(value) = value else { return Value::Nil };
    let (mut seconds, mut nanoseconds) = (value.as_second(), value.subsec_nanosecond());
    if nanoseconds < 0 {
        (seconds, nanoseconds) = (seconds - 1, nanoseconds + 1_000_000_000);
    }
    let mut bytes = nanoseconds.to_be_bytes().to_vec();
    bytes.extend(seconds.to_be_bytes());
    Value::Ext(TIMESTAMP, bytes)
}

/// Has the times in these fields of a message, if they are text, as msgpack's timestamps. So Airflow's supervisor sends
/// them, and to a task their zone is Python's own UTC, and not one that whoever reads text makes up.
pub fn native_times(message: &mut Value, fields: &[&str]) {
    let Value::Map(entries) = message else { return };
    for (key, value) in entries {
        if key.as_str().is_some_and(|key| fields.contains(&key))
            && value.is_str()
            && let Ok(read) = read_time(value)
        {
            *value = time(Some(read));
        }
    }
}

/// A time, as msgpack's timestamp or as text.
pub(super) fn read_time(value: &Value) -> Result<Timestamp, String> {
    let (seconds, nanoseconds) = match value {
        Value::Ext(TIMESTAMP, bytes) => timestamp_parts(bytes).ok_or("a timestamp of an odd length")?,
        Value::String(text) => {
            let text = text.as_str().unwrap_or_default();
            return text.parse().map_err(|error| format!("{text:?} is no time with a zone: {error}"));
        }
        other => return Err(format!("{other} is no time")),
    };
    Timestamp::new(seconds, nanoseconds).map_err(|error| error.to_string())
}

/// Seconds and nanoseconds of the three forms of a timestamp.
fn timestamp_parts(bytes: &[u8]) -> Option<(i64, i32)> {
    match bytes.len() {
        4 => Some((i64::from(u32::from_be_bytes(bytes.try_into().ok()?)), 0)),
        8 => {
            let both = u64::from_be_bytes(bytes.try_into().ok()?);
            Some((i64::try_from(both & 0x3_ffff_ffff).ok()?, i32::try_from(both >> 34).ok()?))
        }
        12 => {
            let nanoseconds = i32::from_be_bytes(bytes[..4].try_into().ok()?);
            Some((i64::from_be_bytes(bytes[4..].try_into().ok()?), nanoseconds))
        }
        _ => None,
    }
}

/// A stored JSON value, with its keys in their order. What the database took for JSON may still be none for us: a number
/// beyond all numbers, half of a character, more than 127 levels.
pub(super) fn json(what: impl FnOnce() -> String, json: &Json) -> Result<Value, Refusal> {
    serde_json::from_str(&json.standard_text())
        .map_err(|error| Refusal::Stored { what: what(), source: error.into() })
}

/// A value of a message as JSON, with its keys in their order and its numbers of their kind.
pub(super) fn to_json(value: &Value, not_finite: NotFinite) -> Result<serde_json::Value, String> {
    Ok(match value {
        Value::Nil => serde_json::Value::Null,
        Value::Boolean(value) => (*value).into(),
        Value::Integer(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => return Err(format!("{number} is no integer of 64 bits")),
        },
        Value::F32(number) => float(f64::from(*number), not_finite)?,
        Value::F64(number) => float(*number, not_finite)?,
        Value::String(text) => text.as_str().ok_or("a text that is not UTF-8")?.into(),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_json(item, not_finite));
            serde_json::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key.as_str().ok_or_else(|| format!("the key {key} is no text"))?;
                Ok((key.to_owned(), to_json(value, not_finite)?))
            });
            serde_json::Value::Object(entries.collect::<Result<_, String>>()?)
        }
        Value::Binary(_) | Value::Ext(..) => return Err(format!("{value} is no JSON value")),
    })
}

/// What becomes of a float that JSON has no word for.
#[derive(Clone, Copy, Debug)]
pub(super) enum NotFinite {
    Refused,
    Null,
}

fn float(number: f64, not_finite: NotFinite) -> Result<serde_json::Value, String> {
    match (serde_json::Number::from_f64(number), not_finite) {
        (Some(number), _) => Ok(number.into()),
        (None, NotFinite::Null) => Ok(serde_json::Value::Null),
        (None, NotFinite::Refused) => Err("Out of range float values are not JSON compliant".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_form() {
        let expected: Timestamp = "2026-01-02T03:04:05.000006Z".parse().unwrap();
        let whole: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let seconds = u64::try_from(whole.as_second()).unwrap();
        let short = u32::try_from(seconds).unwrap().to_be_bytes().to_vec();
        assert_eq!(read_time(&Value::Ext(-1, short)), Ok(whole));
        let packed = ((6000_u64 << 34) | seconds).to_be_bytes().to_vec();
        assert_eq!(read_time(&Value::Ext(-1, packed)), Ok(expected));
        assert_eq!(read_time(&time(Some(expected))), Ok(expected));
        assert_eq!(read_time(&"2026-01-02T04:04:05.000006+01:00".into()), Ok(expected));
        let early: Timestamp = "1969-12-31T23:59:59.25Z".parse().unwrap();
        assert_eq!(read_time(&time(Some(early))), Ok(early));
    }

    #[test]
    fn texts_become_timestamps_where_they_are_times() {
        let when: Timestamp = "2026-01-02T03:04:05.000006Z".parse().unwrap();
        let text = Value::from(when.to_string());
        let mut message = map([
            ("start_date", text.clone()),
            ("end_date", Value::Nil),
            ("conf", text.clone()),
            ("run_after", "soon".into()),
        ]);
        native_times(&mut message, &["start_date", "end_date", "run_after"]);
        let expected = map([
            ("start_date", time(Some(when))),
            ("end_date", Value::Nil),
            ("conf", text),
            ("run_after", "soon".into()),
        ]);
        assert_eq!(message, expected);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in [Value::Ext(-1, vec![1]), Value::Ext(5, vec![0; 4]), 5.into(), "2026-01-02".into()] {
            assert!(read_time(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn json_keeps_order_and_kinds() {
        let text = r#"{"b": [1, 2.5, null, true], "a": {"x": "é"}}"#;
        let value = json(String::new, &Json::from_text(text.to_owned()).unwrap()).unwrap();
        assert_eq!(value.to_string(), r#"{"b": [1, 2.5, nil, true], "a": {"x": "é"}}"#);
    }
}
