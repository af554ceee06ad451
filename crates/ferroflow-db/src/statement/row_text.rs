//! A whole row as texts, whatever its columns are: as Python shows what its drivers make of each.

use ferroflow_model::{Json, python_datetime, python_float};
use jiff::Timestamp;
use sqlx::{Column as _, Row as _, TypeInfo as _, ValueRef as _};
use std::fmt::Write as _;

use crate::Error;
use crate::encoding::timestamp;
use crate::statement::Row;
use crate::statement::row::{BoxError, Column, Values};

impl Row {
    /// The text of each value, or nothing.
    pub(crate) fn texts(&self) -> Result<Vec<Option<String>>, Error> {
        let texts: Result<_, BoxError> = match &self.values {
            Values::Postgres(row) => (0..row.columns().len()).map(|n| postgres(row, n)).collect(),
            Values::MySql(row) => (0..row.columns().len()).map(|n| mysql(row, n)).collect(),
            Values::Sqlite(row) => (0..row.columns().len()).map(|n| sqlite(row, n)).collect(),
        };
        texts.map_err(|source| self.bad("of a table of old rows", source))
    }

    /// The text of one value as far as it can be told; nothing if it is NULL, or there is no such column.
    pub(crate) fn text_of(&self, name: &str) -> Option<String> {
        let n = self.position(name)?;
        let text = match &self.values {
            Values::Postgres(row) => postgres(row, n),
            Values::MySql(row) => mysql(row, n),
            Values::Sqlite(row) => sqlite(row, n),
        };
        text.unwrap_or_else(|error| Some(format!("<{error}>")))
    }

    /// Where a column stands, if there is one of this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        match &self.values {
            Values::Postgres(row) => row.try_column(name).map(sqlx::Column::ordinal),
            Values::MySql(row) => row.try_column(name).map(sqlx::Column::ordinal),
            Values::Sqlite(row) => row.try_column(name).map(sqlx::Column::ordinal),
        }
        .ok()
    }
}

fn postgres(row: &sqlx::postgres::PgRow, n: usize) -> Result<Option<String>, BoxError> {
    let name = row.column(n).name();
    Ok(match row.column(n).type_info().name() {
        "BOOL" => row.try_get::<Option<bool>, _>(n)?.map(python_bool),
        "INT2" | "INT4" | "INT8" => i64::postgres(row, name)?.map(|number| number.to_string()),
        "FLOAT8" => row.try_get::<Option<f64>, _>(n)?.map(python_float),
        "TIMESTAMPTZ" => Timestamp::postgres(row, name)?.map(python_datetime),
        "UUID" => row.try_get::<Option<uuid::Uuid>, _>(n)?.map(|uuid| uuid.to_string()),
        "JSON" | "JSONB" => Json::postgres(row, name)?.map(Json::into_text),
        "BYTEA" => row.try_get::<Option<Vec<u8>>, _>(n)?.map(|bytes| python_bytes(&bytes)),
        _ => row.try_get::<Option<String>, _>(n)?,
    })
}

fn mysql(row: &sqlx::mysql::MySqlRow, n: usize) -> Result<Option<String>, BoxError> {
    Ok(match row.column(n).type_info().name() {
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => {
            row.try_get_unchecked::<Option<i64>, _>(n)?.map(|number| number.to_string())
        }
        "FLOAT" | "DOUBLE" => f64::mysql(row, row.column(n).name())?.map(python_float),
        "TIMESTAMP" | "DATETIME" => {
            let at = row.try_get_unchecked::<Option<chrono::DateTime<chrono::Utc>>, _>(n)?;
            let at = at.map(timestamp::from_chrono).transpose()?.map(python_datetime);
            // There it has no zone.
            at.map(|text| text.trim_end_matches("+00:00").to_owned())
        }
        "BLOB" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" | "BINARY" | "VARBINARY" => {
            row.try_get::<Option<Vec<u8>>, _>(n)?.map(|bytes| python_bytes(&bytes))
        }
        _ => row.try_get_unchecked::<Option<String>, _>(n)?,
    })
}

fn sqlite(row: &sqlx::sqlite::SqliteRow, n: usize) -> Result<Option<String>, BoxError> {
    let value = row.try_get_raw(n)?;
    if value.is_null() {
        return Ok(None);
    }
    Ok(match value.type_info().name() {
        "INTEGER" | "BOOLEAN" => row.try_get_unchecked::<Option<i64>, _>(n)?.map(|number| number.to_string()),
        "REAL" => row.try_get_unchecked::<Option<f64>, _>(n)?.map(python_float),
        "BLOB" => row.try_get_unchecked::<Option<Vec<u8>>, _>(n)?.map(|bytes| python_bytes(&bytes)),
        _ => row.try_get_unchecked::<Option<String>, _>(n)?,
    })
}

fn python_bool(is_so: bool) -> String {
    if is_so { "True" } else { "False" }.to_owned()
}

/// As Python's `repr` shows bytes.
fn python_bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = format!("b{quote}");
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            byte if char::from(*byte) == quote => text.extend(['\\', quote]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a string does not fail.
            byte => drop(write!(text, "\\x{byte:02x}")),
        }
    }
    text.push(quote);
    text
}

#[cfg(test)]
mod tests {
    use super::python_bytes;

    #[test]
    fn bytes_are_shown_as_python_shows_them() {
        assert_eq!(python_bytes(b"\x80\x05K\x00.\n\\'"), r#"b"\x80\x05K\x00.\n\\'""#);
        assert_eq!(python_bytes(b"\"'"), r#"b'"\''"#);
    }
}
