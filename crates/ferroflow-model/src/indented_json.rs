//! JSON for files, as Python's `json.dumps` indents it.

use serde_json::{Map, Value};

use crate::Json;

/// A value with each member in a line of its own.
pub fn indented_json(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(value, indent, 0, &mut text);
    text
}

/// The same with the members of all objects sorted by name.
pub fn sorted_json(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(
                members.into_iter().map(|(name, value)| (name, sorted_json(value))).collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted_json).collect()),
        other => other,
    }
}

fn write(value: &Value, indent: usize, depth: usize, text: &mut String) {
    let new_line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&" ".repeat(indent * depth));
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                text.push_str(if position > 0 { "," } else { "" });
                new_line(text, depth + 1);
                write(item, indent, depth + 1, text);
            }
            new_line(text, depth);
            text.push(']');
        }
        Value::Object(members) if !members.is_empty() => {
            text.push('{');
            for (position, (name, value)) in members.iter().enumerate() {
                text.push_str(if position > 0 { "," } else { "" });
                new_line(text, depth + 1);
                text.push_str(Json::from(Value::from(name.as_str())).text());
                text.push_str(": ");
                write(value, indent, depth + 1, text);
            }
            new_line(text, depth);
            text.push('}');
        }
        scalar => text.push_str(Json::from(scalar).text()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_stand_below_each_other() {
        let value = json!({"b": [1, {"ä": null}], "a": {}, "c": []});
        let text = "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"\\u00e4\": null\n    }\n  ],\n  \"c\": []\n}";
        assert_eq!(indented_json(&sorted_json(value), 2), text);
    }
}
