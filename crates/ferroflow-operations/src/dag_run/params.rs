//! Whether what a run is given fits the parameters of its DAG.

use ferroflow_model::dag::Param;
use serde_json::{Map, Value};

/// A parameter of a DAG that a run cannot have.
#[derive(Debug, thiserror::Error)]
#[error("Invalid input for param {name}: {problem}")]
pub struct BadParam {
    /// The parameter.
    pub name: String,
    /// What is wrong with its value.
    pub problem: String,
}

/// Checks every parameter, with the value that the run is given or with its own. What the DAG does not know needs no
/// check.
pub fn check_params(params: &[Param], conf: &Map<String, Value>) -> Result<(), BadParam> {
    for param in params {
        let own = || param.value.as_ref().map(ferroflow_db::Json::value).transpose();
        let checked = match conf.get(&*param.name) {
            Some(value) => fits(param, value),
            None => match own() {
                Ok(Some(value)) => fits(param, &value),
                Ok(None) => Err("No value passed".to_owned()),
                Err(error) => Err(error.to_string()),
            },
        };
        checked.map_err(|problem| BadParam { name: param.name.to_string(), problem })?;
    }
    Ok(())
}

fn fits(param: &Param, value: &Value) -> Result<(), String> {
    let schema = param.schema.value().map_err(|error| error.to_string())?;
    let mut options = jsonschema::options()
        .should_validate_formats(true)
        .should_ignore_unknown_formats(true)
        .with_format("time", is_time)
        .with_format("email", has_at)
        .with_format("idn-email", has_at);
    for format in UNCHECKED {
        options = options.with_format(format, |_: &str| true);
    }
    let validator = options.build(&schema).map_err(|error| error.to_string())?;
    validator.validate(value).map_err(|error| error.to_string())
}

/// What Python's library knows only with packages that Airflow does not bring.
const UNCHECKED: [&str; 9] = [
    "date-time",
    "hostname",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
];

/// As Python's library takes times: without an offset, hours, minutes and seconds.
fn is_time(text: &str) -> bool {
    let most = [23, 59, 61];
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == most.len()
        && parts.iter().zip(most).all(|(part, most)| {
            matches!(part.len(), 1 | 2)
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.parse::<u8>().is_ok_and(|number| number <= most)
        })
}

fn has_at(text: &str) -> bool {
    text.contains('@')
}

#[cfg(test)]
mod tests {
    use ferroflow_db::Json;
    use serde_json::json;
    use test_case::test_case;

    use super::*;

    fn param(value: Option<Value>, schema: Value) -> Param {
        let value = value.map(Json::from);
        Param { name: "p".into(), value, description: None, schema: Json::from(schema), source: None }
    }

    // What Airflow's `SerializedParamsDict.validate` says of the same.
    #[test_case(Some(json!(1)), json!({}), &json!({}) => true; "its own value")]
    #[test_case(None, json!({}), &json!({}) => false; "no value")]
    #[test_case(None, json!({}), &json!({"p": null}) => true; "a value that is null")]
    #[test_case(Some(json!(1)), json!({"type": "integer"}), &json!({"p": "x"}) => false; "of another type")]
    #[test_case(Some(json!("x")), json!({"type": "string", "maxLength": 2}), &json!({"p": "xyz"}) => false; "too long")]
    #[test_case(Some(json!("x")), json!({"type": ["null", "string"]}), &json!({"p": null}) => true; "one of two types")]
    #[test_case(Some(json!(3)), json!({"enum": [1, 2]}), &json!({}) => false; "its own value is wrong")]
    #[test_case(Some(json!(1)), json!({}), &json!({"other": 1}) => true; "what the DAG does not know")]
    #[test_case(Some(json!("x")), json!({"format": "date"}), &json!({"p": "no date"}) => false; "no date")]
    #[test_case(Some(json!("12:13:14")), json!({"format": "time"}), &json!({"p": "1:2:61"}) => true; "times without an offset")]
    #[test_case(Some(json!("12:13:14")), json!({"format": "time"}), &json!({"p": "12:13:14Z"}) => false; "a time with an offset")]
    #[test_case(Some(json!("x")), json!({"format": "date-time"}), &json!({"p": "soon"}) => true; "moments are not checked")]
    #[test_case(Some(json!("x")), json!({"format": "email"}), &json!({"p": "@"}) => true; "what counts as an address")]
    #[test_case(Some(json!("x")), json!({"format": "multiline"}), &json!({"p": "x"}) => true; "a format nobody knows")]
    fn values_fit_or_not(value: Option<Value>, schema: Value, conf: &Value) -> bool {
        check_params(&[param(value, schema)], conf.as_object().unwrap()).is_ok()
    }
}
