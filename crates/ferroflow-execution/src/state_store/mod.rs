//! What tasks keep: for their own later tries, and for assets.

mod asset;
mod task;

use ferroflow_db::Json;
use ferroflow_model::standard_json;
use rmpv::Value;

use crate::value::{NotFinite, body, to_json};
use crate::{Answer, Refusal};

/// The value that a message wants to be kept. Airflow keeps no null.
fn kept(kind: &str, value: &Value) -> Result<Json, Refusal> {
    let unreadable = |problem| Refusal::Unreadable { kind: kind.to_owned(), problem };
    match to_json(value, NotFinite::Null).map_err(unreadable)? {
        serde_json::Value::Null => Err(Refusal::api(422, "invalid_value", "value cannot be null")),
        value => Ok(Json::from(value)),
    }
}

/// What is kept, as it is.
fn stored(what: impl FnOnce() -> String, text: &str) -> Result<Value, Refusal> {
    serde_json::from_str(&standard_json(text))
        .map_err(|error| Refusal::Stored { what: what(), source: error.into() })
}

fn ok() -> Answer {
    body("OKResponse", [("ok", true.into())])
}
