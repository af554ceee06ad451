//! Connections with all that they have.

use std::io::Write;

use anyhow::Result;
use ferroflow_operations::connection::{self, FoundConnection};
use serde_json::Value;

use crate::output::{Cell, Format, Records};

const COLUMNS: [&str; 13] = [
    "id",
    "conn_id",
    "conn_type",
    "description",
    "host",
    "schema",
    "login",
    "password",
    "port",
    "is_encrypted",
    "is_extra_encrypted",
    "extra_dejson",
    "get_uri",
];

const MASK: &str = "***";

/// Prints all that they have; without secrets, if so wished.
pub(super) fn print(
    all: &[FoundConnection],
    is_masked: bool,
    format: Format,
    out: &mut dyn Write,
) -> Result<()> {
    let rows: Result<Vec<Vec<Cell>>> = all.iter().map(|found| row(found, is_masked, format)).collect();
    Ok(Records::new(COLUMNS.to_vec(), rows?).print(format, out)?)
}

fn row(found: &FoundConnection, is_masked: bool, format: Format) -> Result<Vec<Cell>> {
    let connection = &found.connection;
    let text = |text: &Option<String>| Cell::of_text(text.as_deref());
    let (extra, uri) = (connection::extra(connection)?, connection::uri(connection)?);
    let is_encrypted = found.is_encrypted.map_or(Cell::Nothing, Cell::from);
    let has_password = connection.password.as_deref().is_some_and(|password| !password.is_empty());
    let has_extra = !extra.is_empty();
    Ok(vec![
        found.id.map_or(Cell::Nothing, Cell::of_number),
        Cell::from(connection.conn_id.as_str()),
        Cell::from(connection.conn_type.as_str()),
        text(&connection.description),
        text(&connection.host),
        text(&connection.schema),
        text(&connection.login),
        if is_masked && has_password { Cell::from(MASK) } else { text(&connection.password) },
        connection.port.map_or(Cell::Nothing, Cell::of_number),
        is_encrypted.clone(),
        // Airflow says the same of both.
        is_encrypted,
        if is_masked && has_extra { Cell::from(MASK) } else { Cell::of_json(&Value::Object(extra), format) },
        if is_masked { Cell::Text(masked(&uri)) } else { Cell::Text(uri) },
    ])
}

/// A URI without user, password and `extra`.
fn masked(uri: &str) -> String {
    let (address, query) = uri.split_once('?').map_or((uri, None), |(address, query)| (address, Some(query)));
    let address = match address.split_once('@') {
        Some((before, server)) => {
            let start = before.rfind("//").map_or(0, |slashes| slashes + 2);
            format!("{}{MASK}:{MASK}@{server}", &before[..start])
        }
        None => address.to_owned(),
    };
    query.map_or_else(|| address.clone(), |_| format!("{address}?{MASK}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_masked() {
        for (uri, expected) in [
            ("x://me:pw@h:5/s?__extra__=secret", "x://***:***@h:5/s?***"),
            ("http://https://me:pw@h", "http://https://***:***@h"),
            ("x://@:77", "x://***:***@:77"),
            ("x://h/s", "x://h/s"),
            ("//:p@", "//***:***@"),
        ] {
            assert_eq!(masked(uri), expected);
        }
    }
}
