//! What a person can set for a run.

use serde_json::Value as PlainValue;

use crate::Json;
use crate::document::{Reader, Value};

/// Parameters, in the order of the author.
pub type Params = Vec<Param>;

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Box<str>,
    /// Its value unless another is set, as plain JSON; `None` if there is none.
    pub value: Option<Json>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// The JSON schema of its value, an object.
    pub schema: Json,
    /// Whether the DAG or the task asked for it; old documents do not say.
    pub source: Option<ParamSource>,
}

/// Who asked for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamSource {
    /// The DAG.
    Dag,
    /// The task.
    Task,
}

/// Reads the list of pairs that documents hold, or the object of those from before Airflow 2.10.
pub(super) fn read_params<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Params> {
    match value {
        Value::Object(entries) => Some(
            entries
                .iter()
                .map(|(name, value)| reader.within(name, |reader| read_param(reader, name, value)))
                .collect(),
        ),
        _ => reader.list(value, |reader, pair| match pair {
            Value::List([Value::Text(name), param]) => {
                Some(reader.within(1, |reader| read_param(reader, name, param)))
            }
            other => {
                reader.expected("a pair of a name and a parameter", other);
                None
            }
        }),
    }
}

fn read_param<'v>(reader: &mut Reader<'v>, name: &str, value: &'v Value<'v>) -> Param {
    let name = name.into();
    if value.get("__class").is_none() {
        // A bare value, as very old documents have it.
        let schema = Value::Object(&[]).to_json();
        return Param { name, value: Some(value.to_json()), description: None, schema, source: None };
    }
    let description = reader.optional(value, "description", Reader::text).map(Into::into);
    let schema = match value.get("schema") {
        None | Some(Value::Null) => PlainValue::Object(serde_json::Map::new()),
        Some(schema) => plain_if_encoded(schema),
    };
    if !schema.is_object() {
        reader.within("schema", |reader| reader.problem("expected an object"));
    }
    let source = reader.optional(value, "source", |reader, source| match reader.text(source)? {
        "dag" => Some(ParamSource::Dag),
        "task" => Some(ParamSource::Task),
        other => {
            reader.problem(format_args!("{other:?} is not a source of a parameter (known: dag, task)"));
            None
        }
    });
    let value = match value.get("default") {
        None => Some(Json::null()),
        Some(default) if default.envelope().is_some_and(|(name, _)| name == "arg_not_set") => None,
        Some(default) => Some(Json::from(plain_if_encoded(default))),
    };
    Param { name, value, description, schema: Json::from(schema), source }
}

/// Airflow decodes a value only if it, or every item of it, is an envelope: the rest stays as it was written.
fn plain_if_encoded(value: &Value<'_>) -> PlainValue {
    let is_encoded = match value {
        Value::List(items) => items.iter().all(|item| item.get("__type").is_some()),
        other => other.get("__type").is_some(),
    };
    if is_encoded { plain(value) } else { written(value) }
}

/// Takes the envelopes off what JSON can say without them. Others stay, so that nothing is lost.
fn plain(value: &Value<'_>) -> PlainValue {
    match (value.envelope(), value) {
        (Some(("dict", Value::Object(entries))), _) => {
            PlainValue::Object(entries.iter().map(|(key, value)| (key.to_string(), plain(value))).collect())
        }
        (Some(("tuple" | "set", Value::List(items))), _) | (_, Value::List(items)) => {
            PlainValue::Array(items.iter().map(plain).collect())
        }
        _ => written(value),
    }
}

fn written(value: &Value<'_>) -> PlainValue {
    serde_json::to_value(value).unwrap_or(PlainValue::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::decode;

    fn params(text: &str) -> Result<Params, String> {
        decode(text, read_params).map_err(|problems| problems.to_string())
    }

    #[test]
    fn order_values_and_schemas_are_kept() {
        let text = r#"[["z", {"__class": "airflow.sdk.definitions.param.Param",
                "default": {"__type": "dict", "__var": {"k": [1, {"__type": "tuple", "__var": [2]}]}},
                "description": "d", "schema": {"__type": "dict", "__var": {"type": "object"}},
                "source": "dag"}],
            ["a", {"__class": "x", "default": {"__type": "arg_not_set", "__var": null}}],
            ["b", {"__class": "x", "default": [1, {"__type": "dict", "__var": {}}]}]]"#;
        let params = params(text).unwrap();
        assert_eq!(params.iter().map(|param| &*param.name).collect::<Vec<_>>(), ["z", "a", "b"]);
        assert_eq!(params[0].value.as_ref().unwrap().text(), r#"{"k": [1, [2]]}"#);
        assert_eq!(params[0].schema.text(), r#"{"type": "object"}"#);
        assert_eq!(params[0].source, Some(ParamSource::Dag));
        assert_eq!(params[1].value, None);
        // Airflow leaves a list as it is if one of its items is no envelope.
        assert_eq!(params[2].value.as_ref().unwrap().text(), r#"[1, {"__type": "dict", "__var": {}}]"#);
    }

    #[test]
    fn old_forms_are_read() {
        let params = params(r#"{"a": 1, "b": {"__class": "x", "default": "y"}}"#).unwrap();
        assert_eq!(params[0].value.as_ref().unwrap().text(), "1");
        assert_eq!(params[1].value.as_ref().unwrap().text(), r#""y""#);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let text = r#"[1, ["a"], ["b", {"__class": "x", "description": 1, "schema": 2, "source": "sky"}]]"#;
        assert_eq!(
            params(text).unwrap_err(),
            "[0]: expected a pair of a name and a parameter, found an integer\n\
             [1]: expected a pair of a name and a parameter, found a list\n\
             [2][1].description: expected a string, found an integer\n\
             [2][1].schema: expected an object\n\
             [2][1].source: \"sky\" is not a source of a parameter (known: dag, task)"
        );
    }
}
