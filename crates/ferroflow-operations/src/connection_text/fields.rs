//! Connections by their fields.

use ferroflow_db::Json;
use ferroflow_db::connection::Connection;
use serde_json::{Map, Value};

use super::{checked, normalized, uri};

/// The fields that stand in a URI, beside which they may not be given.
const IN_URI: [&str; 7] = ["conn_type", "host", "login", "password", "schema", "port", "extra"];

/// A connection that is the text of a JSON dict.
pub fn from_json(conn_id: &str, text: &str) -> Result<Connection, String> {
    let fields: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("it is not a JSON dict: {error}"))?;
    let connection = of(fields)?;
    checked(conn_id, Connection { conn_type: normalized(&connection.conn_type), ..connection })
}

/// A connection of a file: its type is as it stands there; it may repeat its id, and `extra_dejson` is another name of
/// `extra`.
pub fn from_fields(conn_id: &str, mut fields: Map<String, Value>) -> Result<Connection, String> {
    if let Some(other) = fields.remove("conn_id")
        && other != conn_id
    {
        return Err(format!("its conn_id is {other}"));
    }
    if let Some(extra) = fields.remove("extra_dejson")
        && fields.insert("extra".to_owned(), extra).is_some()
    {
        return Err("it has both extra and extra_dejson; leave one of them out".to_owned());
    }
    checked(conn_id, of(fields)?)
}

fn of(mut fields: Map<String, Value>) -> Result<Connection, String> {
    let uri = text_of(&mut fields, "uri")?.filter(|uri| !uri.is_empty());
    let (description, team_name) = (text_of(&mut fields, "description")?, text_of(&mut fields, "team_name")?);
    let connection = match uri {
        Some(uri) => {
            for name in IN_URI {
                if fields.remove(name).is_some_and(|value| is_something(&value)) {
                    return Err(format!("it has a uri, and {name} besides; leave one of them out"));
                }
            }
            uri::parts(&uri)?
        }
        None => of_single_fields(&mut fields)?,
    };
    match fields.keys().next() {
        Some(unknown) => Err(format!("it has the unknown field {unknown:?}")),
        None => Ok(Connection { description, team_name, ..connection }),
    }
}

fn of_single_fields(fields: &mut Map<String, Value>) -> Result<Connection, String> {
    let extra = match fields.remove("extra") {
        Some(Value::String(text)) => Some(text).filter(|text| !text.is_empty()),
        Some(other) if is_something(&other) => Some(Json::from(other).into_text()),
        _ => None,
    };
    let port = match fields.remove("port") {
        Some(Value::String(text)) if !text.is_empty() => {
            Some(text.trim().parse().map_err(|_| "its port is not a number")?)
        }
        Some(other) if is_something(&other) => {
            let number = other.as_i64().and_then(|port| i32::try_from(port).ok());
            Some(number.ok_or("its port is not a number")?)
        }
        _ => None,
    };
    Ok(Connection {
        conn_id: String::new(),
        conn_type: text_of(fields, "conn_type")?.ok_or("it has no conn_type")?,
        description: None,
        host: text_of(fields, "host")?,
        schema: text_of(fields, "schema")?,
        login: text_of(fields, "login")?,
        password: text_of(fields, "password")?,
        port,
        extra,
        team_name: None,
    })
}

fn text_of(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("its {name} is not a text")),
    }
}

/// What Python takes for true.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_true) => *is_true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use test_case::test_case;

    use super::*;

    #[test_case(json!({"conn_type": "my-type", "extra_dejson": {"a": 1}}) => "my-type:// {\"a\": 1}"; "a type with a dash")]
    #[test_case(json!({"uri": "my-type://h", "port": 0, "extra": {}}) => "my_type://h -"; "a uri")]
    #[test_case(json!({"conn_type": "x", "conn_id": "other"}) => "its conn_id is \"other\""; "another id")]
    #[test_case(json!({"uri": "x://h", "port": 5}) => "it has a uri, and port besides; leave one of them out"; "both")]
    #[test_case(json!({"host": "h"}) => "it has no conn_type"; "no type")]
    #[test_case(json!({"conn_type": "x", "extra": 5}) => "its extra is not a JSON dict"; "a number as extra")]
    fn fields_of_files(fields: Value) -> String {
        let Value::Object(fields) = fields else { panic!("an object") };
        match from_fields("c", fields) {
            Ok(found) => {
                let host = found.host.unwrap_or_default();
                format!("{}://{host} {}", found.conn_type, found.extra.as_deref().unwrap_or("-"))
            }
            Err(problem) => problem,
        }
    }
}
