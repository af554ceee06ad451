//! Values of frames as JSON.

use ferroflow_model::Json;
use rmpv::Value;
use serde_json::{Map, Number};

use crate::value::read_time;

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

/// An object as the database keeps it; an empty one in place of nothing.
pub(super) fn object(value: Option<&Value>) -> Json {
    match value {
        None | Some(Value::Nil) => Json::from(serde_json::json!({})),
        Some(value) => Json::from(plain(value)),
    }
}

/// Whether Python would take it for true.
pub(super) fn is_truthy(json: &Json) -> bool {
    match json.value() {
        Ok(serde_json::Value::Null) => false,
        Ok(serde_json::Value::Bool(value)) => value,
        Ok(serde_json::Value::Number(number)) => number.as_f64() != Some(0.0),
        Ok(serde_json::Value::String(text)) => !text.is_empty(),
        Ok(serde_json::Value::Array(items)) => !items.is_empty(),
        Ok(serde_json::Value::Object(entries)) => !entries.is_empty(),
        // Nested too deeply to look inside: it is not empty.
        Err(_) => true,
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
    use super::*;

    #[test]
    fn frames_become_json() {
        let time = crate::value::time(Some("2026-01-02T03:04:05Z".parse().unwrap()));
        let value = Value::Map(vec![
            ("a".into(), Value::Array(vec![1.into(), 2.5.into(), Value::Nil, true.into(), time])),
            (7.into(), "x".into()),
        ]);
        let expected = r#"{"a": [1, 2.5, null, true, "2026-01-02T03:04:05Z"], "7": "x"}"#;
        assert_eq!(object(Some(&value)).text(), expected);
        assert_eq!(object(None).text(), "{}");
    }

    #[test]
    fn what_is_empty_is_false() {
        for (text, expected) in [("null", false), ("{}", false), ("[]", false), ("\"\"", false), ("0", false)]
        {
            assert_eq!(is_truthy(&Json::from_text(text.to_owned()).unwrap()), expected, "{text}");
        }
        assert!(is_truthy(&Json::from_text("{\"a\": null}".to_owned()).unwrap()));
    }
}
