//! A connection in one text, as `AIRFLOW_CONN_…` holds it: a URI of Airflow's kind, or JSON.

use ferroflow_db::Json;
use ferroflow_db::connection::Connection;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The key of a URI's query that holds all of `extra`.
const WHOLE_EXTRA: &str = "__extra__";

/// Reads a connection. The error does not repeat the text, which has a password in it.
pub(crate) fn read(conn_id: &str, text: &str) -> Result<Connection, String> {
    let text = text.trim();
    let connection = if text.starts_with('{') { from_json(text)? } else { from_uri(text)? };
    check_extra(connection.extra.as_deref())?;
    Ok(Connection { conn_id: conn_id.to_owned(), ..connection })
}

/// `extra` is empty or a JSON dict.
pub(crate) fn check_extra(extra: Option<&str>) -> Result<(), String> {
    match extra.filter(|extra| !extra.is_empty()).map(serde_json::from_str::<Value>) {
        None | Some(Ok(Value::Object(_))) => Ok(()),
        Some(Ok(_)) => Err("its extra is not a JSON dict".to_owned()),
        Some(Err(error)) => Err(format!("its extra is not JSON: {error}")),
    }
}

fn from_json(text: &str) -> Result<Connection, String> {
    let mut fields: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let extra = match fields.remove("extra") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text).filter(|text| !text.is_empty()),
        Some(other) => Some(Json::from(other).into_text()),
    };
    let port = match fields.remove("port") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.is_empty() => None,
        Some(Value::String(text)) => Some(text.trim().parse().map_err(|_| "its port is not a number")?),
        Some(other) => {
            let number = other.as_i64().and_then(|port| i32::try_from(port).ok());
            Some(number.ok_or("its port is not a number")?).filter(|port| *port != 0)
        }
    };
    let mut text_of = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("its {name} is not a text")),
    };
    let connection = Connection {
        conn_type: text_of("conn_type")?.map(|name| normalized(&name)).ok_or("it has no conn_type")?,
        description: text_of("description")?,
        host: text_of("host")?,
        schema: text_of("schema")?,
        login: text_of("login")?,
        password: text_of("password")?,
        team_name: text_of("team_name")?,
        port,
        extra,
        conn_id: String::new(),
    };
    match fields.keys().next() {
        Some(unknown) => Err(format!("it has the unknown field {unknown:?}")),
        None => Ok(connection),
    }
}

/// A type as Airflow calls it, of a URI's scheme.
fn normalized(conn_type: &str) -> String {
    if conn_type == "postgresql" { "postgres".to_owned() } else { conn_type.replace('-', "_") }
}

/// `type://login:password@host:port/schema?extra`; the host may have a protocol of its own before it:
/// `type://https://host`.
fn from_uri(uri: &str) -> Result<Connection, String> {
    let has_protocol = match uri.matches("://").count() {
        0 | 1 => false,
        2 => true,
        _ => return Err("it has more than two \"://\"".to_owned()),
    };
    let (scheme, _) = split_scheme(uri);
    let rest = uri.replace(&format!("{scheme}://"), if has_protocol { "" } else { "//" });
    if has_protocol && rest.split("://").next().is_some_and(|start| start.contains(['@', ':'])) {
        return Err("login and port belong behind the second \"://\"".to_owned());
    }
    let (protocol, rest) = split_scheme(&rest);
    let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    let (user, server) = match authority.rsplit_once('@') {
        Some((user, server)) => (Some(user), server),
        None => (None, authority),
    };
    let (login, password) =
        match user.map(|user| user.split_once(':').map_or((user, None), |(a, b)| (a, Some(b)))) {
            Some((login, password)) => (Some(login), password),
            None => (None, None),
        };
    let (host, port) = host_and_port(server)?;
    let host = if has_protocol && !host.is_empty() { format!("{protocol}://{host}") } else { host };
    Ok(Connection {
        conn_id: String::new(),
        conn_type: normalized(&scheme),
        description: None,
        host: Some(host),
        schema: Some(decoded(path.get(1..).unwrap_or(""))),
        login: login.map(decoded),
        password: password.map(decoded),
        port,
        extra: extra_of(query),
        team_name: None,
    })
}

/// A URL's scheme, in small letters, and what follows on its colon.
fn split_scheme(url: &str) -> (String, &str) {
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    match url.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => (String::new(), url),
    }
}

fn host_and_port(server: &str) -> Result<(String, Option<i32>), String> {
    let (host, port) = match server.split_once('[') {
        Some((_, bracketed)) => {
            let (host, after) = bracketed.split_once(']').unwrap_or((bracketed, ""));
            (host, after.split_once(':').map_or("", |(_, port)| port))
        }
        None => server.split_once(':').unwrap_or((server, "")),
    };
    let port = match port {
        "" => None,
        port => Some(i32::from(port.parse::<u16>().map_err(|_| "its port is not a number up to 65535")?)),
    };
    // Hosts are in small letters, unless they are paths of sockets; of what is escaped Python changes nothing.
    let (plain, escaped) = host.split_at(host.find('%').unwrap_or(host.len()));
    let small = decoded(&format!("{}{escaped}", plain.to_lowercase()));
    Ok((if small.contains('/') { decoded(host) } else { small }, port))
}

/// `extra` of a query: one key holds all of it, or each key is one of its own, as JSON where it is that.
fn extra_of(query: &str) -> Option<String> {
    if query.is_empty() {
        return None;
    }
    let mut fields = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        fields.insert(decoded(&key.replace('+', " ")), decoded(&value.replace('+', " ")).into());
    }
    if let Some(Value::String(whole)) = fields.get(WHOLE_EXTRA) {
        return Some(whole.clone());
    }
    for value in fields.values_mut() {
        if let Some(parsed) = value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            *value = parsed;
        }
    }
    Some(Json::from(Value::Object(fields)).into_text())
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
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
