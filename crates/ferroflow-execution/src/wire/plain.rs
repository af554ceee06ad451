//! Values of frames as JSON.

use rmpv::Value;
use serde_json::{Map, Number};

use super::value::read_time;

/// A value as JSON. Times are texts, bytes are text as far as they can be.
pub(super) fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Nil => serde_json::Value::Null,
        Value::Boolean(value) => (*value).into(),
        Value::Integer(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => serde_json::Value::Null,
        },
        Value::F32(number) => float(f64::from(*number)),
        Value::F64(number) => float(*number),
        Value::String(text) => String::from_utf8_lossy(text.as_bytes()).into(),
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (name(key), plain(value)));
            serde_json::Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Ext(..) => read_time(value).map_or(serde_json::Value::Null, |time| time.to_string().into()),
    }
}

fn name(key: &Value) -> String {
    match key {
        Value::String(text) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        other => other.to_string(),
    }
}

fn float(number: f64) -> serde_json::Value {
    Number::from_f64(number).map_or(serde_json::Value::Null, serde_json::Value::Number)
}

#[cfg(test)]
mod tests {
    use ferroflow_model::Json;

    use super::*;

    #[test]
    fn frames_become_json() {
        let time = super::super::value::time(Some("2026-01-02T03:04:05Z".parse().unwrap()));
        let value = Value::Map(vec![
            ("a".into(), Value::Array(vec![1.into(), 2.5.into(), Value::Nil, true.into(), time])),
            (7.into(), "x".into()),
        ]);
        let expected = r#"{"a": [1, 2.5, null, true, "2026-01-02T03:04:05Z"], "7": "x"}"#;
        assert_eq!(Json::from(plain(&value)).text(), expected);
    }
}
