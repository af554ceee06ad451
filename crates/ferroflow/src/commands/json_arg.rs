//! What an option gives as JSON.

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

/// An object, or nothing if it is `null`.
pub(crate) fn json_object(option: &str, text: &str) -> Result<Option<Map<String, Value>>> {
    match serde_json::from_str(text).with_context(|| format!("{option} {text:?} is not JSON"))? {
        Value::Object(object) => Ok(Some(object)),
        Value::Null => Ok(None),
        _ => bail!("{option} must be a JSON object, such as {{\"key\": 1}}"),
    }
}
