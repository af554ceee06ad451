use ferroflow_db::variable::Variable;
use serde_json::{Map, Value, json};

use super::list;
use crate::{OperationError, Operations};

/// All variables, such that [`import`](super::import()) makes the same of them.
pub async fn export(operations: &Operations) -> Result<Map<String, Value>, OperationError> {
    Ok(list(operations).await?.into_iter().map(entry).collect())
}

fn entry(variable: Variable) -> (String, Value) {
    let value = match serde_json::from_str(&variable.val) {
        Ok(Value::String(_)) | Err(_) => Value::from(variable.val),
        Ok(value) => value,
    };
    let has_description = variable.description.as_deref().is_some_and(|text| !text.is_empty());
    let is_mistakable = value.get("value").is_some();
    let entry = if has_description || is_mistakable {
        json!({"value": value, "description": variable.description})
    } else {
        value
    };
    (variable.key, entry)
}
