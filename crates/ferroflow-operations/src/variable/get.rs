use ferroflow_config::nearest;
use serde_json::Value;

use super::names;
use crate::{OperationError, Operations};

#[derive(Clone, Debug)]
pub struct GetRequest {
    pub key: String,
    /// The value of a variable that does not exist.
    pub default: Option<String>,
    /// Whether the value is JSON, to be read.
    pub is_json: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum VariableValue {
    Text(String),
    Json(Value),
}

/// The value that tasks see: of the secrets backend or the environment, if it is there.
pub async fn get(operations: &Operations, request: GetRequest) -> Result<VariableValue, OperationError> {
    let GetRequest { key, default, is_json } = request;
    match (operations.secrets.variable(&key).await?, default) {
        (Some(text), _) if is_json => match serde_json::from_str(&text) {
            Ok(value) => Ok(VariableValue::Json(value)),
            Err(error) => {
                Err(OperationError::value_error(format!("the value of variable {key} is not JSON: {error}")))
            }
        },
        (Some(text), _) | (None, Some(text)) => Ok(VariableValue::Text(text)),
        (None, None) => Err(unknown(operations, &key).await),
    }
}

async fn unknown(operations: &Operations, key: &str) -> OperationError {
    let names = names(operations).await.unwrap_or_default();
    let near: Vec<&str> = nearest(key, names.iter().map(String::as_str).collect()).collect();
    let help = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    OperationError::not_found(format!("Variable {key} does not exist.{help}"))
}
