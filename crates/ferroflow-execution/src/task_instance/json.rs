//! Values as the database keeps them.

use ferroflow_model::Json;
use serde_json::Value;

/// An object; an empty one in place of nothing.
pub(super) fn object(value: Option<&Value>) -> Json {
    match value {
        None | Some(Value::Null) => Json::from(serde_json::json!({})),
        Some(value) => Json::from(value),
    }
}

/// Whether Python would take it for true.
pub(super) fn is_truthy(json: &Json) -> bool {
    match json.value() {
        Ok(Value::Null) => false,
        Ok(Value::Bool(value)) => value,
        Ok(Value::Number(number)) => number.as_f64() != Some(0.0),
        Ok(Value::String(text)) => !text.is_empty(),
        Ok(Value::Array(items)) => !items.is_empty(),
        Ok(Value::Object(entries)) => !entries.is_empty(),
        // Nested too deeply to look inside: it is not empty.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_an_empty_object() {
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
