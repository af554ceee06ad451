//! A connection in one text, as `AIRFLOW_CONN_…` holds it: a URI of Airflow's kind, or JSON; and what files say of one.
//!
//! What is wrong with a text is told without repeating it: there are passwords in it.

mod fields;
mod uri;

use ferroflow_db::connection::Connection;
use serde_json::{Map, Value};

pub use fields::{from_fields, from_json};
pub use uri::{from_uri, to_uri};

/// Reads a connection.
pub(crate) fn read(conn_id: &str, text: &str) -> Result<Connection, String> {
    let text = text.trim();
    if text.starts_with('{') { from_json(conn_id, text) } else { from_uri(conn_id, text) }
}

/// What `extra` has in it: nothing, or the members of a JSON dict.
pub fn extra_fields(extra: Option<&str>) -> Result<Map<String, Value>, String> {
    match extra.filter(|extra| !extra.is_empty()).map(serde_json::from_str::<Value>) {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(fields))) => Ok(fields),
        Some(Ok(_)) => Err("its extra is not a JSON dict".to_owned()),
        Some(Err(error)) => Err(format!("its extra is not JSON: {error}")),
    }
}

/// The connection, if its `extra` is what it should be.
fn checked(conn_id: &str, connection: Connection) -> Result<Connection, String> {
    extra_fields(connection.extra.as_deref())?;
    Ok(Connection { conn_id: conn_id.to_owned(), ..connection })
}

/// A type as Airflow calls it, of a URI's scheme.
fn normalized(conn_type: &str) -> String {
    if conn_type == "postgresql" { "postgres".to_owned() } else { conn_type.replace('-', "_") }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("a://b://c://d")]
    #[test_case("http://u:p@https://host"; "login before the second scheme")]
    #[test_case("http://host:port")]
    #[test_case(r#"{"host": "h"}"#; "no type")]
    #[test_case(r#"{"conn_type": "http", "port": "x"}"#)]
    #[test_case(r#"{"conn_type": "http", "extra": "[1]"}"#)]
    #[test_case(r#"{"conn_type": "http", "pasword": "s3cret"}"#)]
    #[test_case("{")]
    fn a_bad_text_is_refused_without_its_secrets(text: &str) {
        let problem = read("c", text).unwrap_err();
        assert!(!problem.contains("s3cret"), "{problem}");
    }

    #[test]
    fn json_fields_are_taken_over() {
        let text = r#" {"conn_type": "google-cloud", "port": "5", "extra": {"b": 1, "a": "é"}} "#;
        let connection = read("c", text).unwrap();
        assert_eq!(
            (connection.conn_type.as_str(), connection.port, connection.extra.as_deref()),
            ("google_cloud", Some(5), Some("{\"b\": 1, \"a\": \"\\u00e9\"}"))
        );
    }
}
