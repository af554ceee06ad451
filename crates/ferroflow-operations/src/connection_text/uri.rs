//! Connections as URIs.

use ferroflow_db::Json;
use ferroflow_db::connection::Connection;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{checked, extra_fields, normalized};

/// The key of a URI's query that holds all of `extra`.
const WHOLE_EXTRA: &str = "__extra__";

/// What Python leaves as it is when it quotes all that it can.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'-').remove(b'~');

/// A connection as a URI, from which [`from_uri`] makes it again. Types have dashes there.
pub fn to_uri(connection: &Connection) -> Result<String, String> {
    let conn_type = connection.conn_type.as_str();
    let scheme = match conn_type {
        "" => "//".to_owned(),
        name => format!("{}://", name.to_lowercase().replace('_', "-")),
    };
    let host = connection.host.as_deref().unwrap_or_default();
    let (protocol, host) = match host.split_once("://") {
        Some((protocol, host)) if protocol != conn_type => (format!("{protocol}://"), host),
        _ => (String::new(), host),
    };
    let login = connection.login.as_deref().map(quoted).unwrap_or_default();
    let password =
        connection.password.as_deref().map(|text| format!(":{}", quoted(text))).unwrap_or_default();
    let port = connection.port.filter(|port| *port != 0).map(|port| format!(":{port}")).unwrap_or_default();
    let has_user = !(login.is_empty() && password.is_empty());
    let at = if has_user || (host.is_empty() && !port.is_empty()) { "@" } else { "" };
    let database = connection.schema.as_deref().filter(|name| !name.is_empty());
    let path = database.map(|name| format!("/{}", quoted(name))).unwrap_or_default();
    let query = match connection.extra.as_deref().filter(|extra| !extra.is_empty()) {
        Some(extra) => format!("{}?{}", if path.is_empty() { "/" } else { "" }, query(extra)?),
        None => String::new(),
    };
    Ok(format!("{scheme}{protocol}{login}{password}{at}{}{port}{path}{query}", quoted(host)))
}

/// Texts are keys of their own; anything else is one key with all of it.
fn query(extra: &str) -> Result<String, String> {
    let fields = extra_fields(Some(extra))?;
    let texts: Option<Vec<String>> = fields
        .iter()
        .map(|(key, value)| Some(format!("{}={}", quoted_plus(key), quoted_plus(value.as_str()?))))
        .collect();
    Ok(match texts {
        Some(texts) if !texts.is_empty() => texts.join("&"),
        _ => format!("{WHOLE_EXTRA}={}", quoted_plus(extra)),
    })
}

fn quoted(text: &str) -> String {
    utf8_percent_encode(text, QUOTED).to_string()
}

fn quoted_plus(text: &str) -> String {
    quoted(text).replace("%20", "+")
}

/// `type://login:password@host:port/schema?extra`; the host may have a protocol of its own before it:
/// `type://https://host`.
pub fn from_uri(conn_id: &str, uri: &str) -> Result<Connection, String> {
    checked(conn_id, parts(uri)?)
}

pub(super) fn parts(uri: &str) -> Result<Connection, String> {
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

    #[test_case("x-y://u:p%2F@h:1/a%2Fb?k=v+w" => "x-y://u:p%2F@h:1/a%2Fb?k=v+w"; "all of it")]
    #[test_case("postgresql://h" => "postgres://h"; "a type with another name")]
    #[test_case("http://https://u@Host/p" => "http://https://u@host/p"; "a protocol")]
    #[test_case("x://@:77" => "x://@:77"; "nothing but a port")]
    #[test_case("x://:p@" => "x://:p@"; "nothing but a password")]
    #[test_case("x://h?a=1" => "x://h/?__extra__=%7B%22a%22%3A+1%7D"; "a number")]
    #[test_case("x://h/s?__extra__=%7B%7D" => "x://h/s?__extra__=%7B%7D"; "an empty dict")]
    #[test_case("x://%2FRun%2FPg" => "x://%2FRun%2FPg"; "a path of a socket")]
    #[test_case("//h" => "//h"; "no scheme")]
    fn uris_are_written(uri: &str) -> String {
        let connection = from_uri("c", uri).unwrap();
        let written = to_uri(&connection).unwrap();
        if !connection.conn_type.is_empty() {
            let again = from_uri("c", &written).unwrap();
            assert!(again == connection, "{written} is another connection");
        }
        written
    }
}
