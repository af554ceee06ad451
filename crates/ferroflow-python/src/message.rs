//! What frames carry, as far as the bridge itself looks into it.

use rmpv::Value;

/// What a child asked, answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// This body (a map with its `type`). A negative answer that user code is meant to see (an `ErrorResponse` that
    /// says `VARIABLE_NOT_FOUND`) is a body too.
    Body(Value),
    /// Nothing but that it was done.
    Done,
    /// An error (an `ErrorResponse`), which is raised where user code asked.
    Error(Value),
}

/// Answers what children ask while user code runs: variables, connections and the like.
pub trait Answers: Sync {
    /// The answer to a request of this `type`.
    fn answer(&self, kind: &str, body: Value) -> impl Future<Output = Answer> + Send;
}

impl Answer {
    /// That such a request is not known.
    pub fn unknown() -> Self {
        let detail = map([("status_code", 400.into()), ("message", "Unhandled request".into())]);
        Self::Error(map([
            ("error", "GENERIC_ERROR".into()),
            ("detail", detail),
            ("type", "ErrorResponse".into()),
        ]))
    }

    /// The body and the error of the frame that says so.
    pub fn into_parts(self) -> (Value, Value) {
        match self {
            Self::Body(body) => (body, Value::Nil),
            Self::Done => (Value::Nil, Value::Nil),
            Self::Error(error) => (Value::Nil, error),
        }
    }
}

/// A map with these entries.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// The value of a key, if this is a map that has it.
pub fn get<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    let entries = value.as_map()?;
    entries.iter().find(|(found, _)| found.as_str() == Some(key)).map(|(_, value)| value)
}

/// A JSON value in msgpack's form.
pub fn from_json(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(value) => value.into(),
        serde_json::Value::String(value) => value.into(),
        serde_json::Value::Array(values) => Value::Array(values.into_iter().map(from_json).collect()),
        serde_json::Value::Object(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key.into(), from_json(value))).collect())
        }
        serde_json::Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => number.into(),
            (None, None) => number.as_f64().map_or(Value::Nil, Value::from),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_kinds_of_numbers() {
        let value = serde_json::json!({"a": [1, -1, 1.0, null, true, "x"]});
        let items = vec![1.into(), (-1).into(), 1.0.into(), Value::Nil, true.into(), "x".into()];
        assert_eq!(from_json(value), map([("a", Value::Array(items))]));
    }
}
