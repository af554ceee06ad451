//! Encrypts anew, with the first key, all that the database holds encrypted.

use crate::encoding::fernet::{Fernet, Stored};
use crate::statement::{Bind, Row, binds};
use crate::{Error, Tx};

/// How many values of a kind were encrypted anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotated {
    /// What they are, in the plural.
    pub what: &'static str,
    /// How many.
    pub count: u64,
}

/// Encrypts everything anew. What is changed meanwhile is left alone, and plain text stays plain.
pub async fn rotate_all(tx: &mut Tx, fernet: &Fernet) -> Result<Vec<Rotated>, Error> {
    let mut rotated = Vec::new();
    for column in COLUMNS {
        rotated.push(Rotated { what: column.what, count: rotate(tx, fernet, column).await? });
    }
    Ok(rotated)
}

/// Whether anything is stored that only its key opens.
pub async fn has_encrypted(tx: &mut Tx) -> Result<bool, Error> {
    for Column { what, table, value, is_encrypted, .. } in COLUMNS {
        let present = present(is_encrypted, value);
        let select = format!("SELECT id FROM {{name:{table}}} WHERE {present} LIMIT 1");
        if !tx.fetch_text(what, &select, Vec::new()).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A column that may hold Fernet tokens.
struct Column {
    what: &'static str,
    table: &'static str,
    /// Which tells a person which row it is.
    name: &'static str,
    value: &'static str,
    /// A condition that holds for the rows with a token.
    is_encrypted: &'static str,
    id: fn(&Row) -> Result<Bind, Error>,
}

const COLUMNS: &[Column] = &[
    Column {
        what: "passwords of connections",
        table: "connection",
        name: "conn_id",
        value: "password",
        is_encrypted: "is_encrypted",
        id: number,
    },
    Column {
        what: "extras of connections",
        table: "connection",
        name: "conn_id",
        value: "extra",
        is_encrypted: "is_extra_encrypted",
        id: number,
    },
    Column {
        what: "variables",
        table: "variable",
        name: "key",
        value: "val",
        is_encrypted: "is_encrypted",
        id: number,
    },
    // No flag tells whether a key was set when a trigger was stored; a token's first bytes do.
    Column {
        what: "arguments of triggers",
        table: "trigger",
        name: "classpath",
        value: "kwargs",
        is_encrypted: "kwargs LIKE 'gAAAA%'",
        id: number,
    },
    Column {
        what: "passwords of connection tests",
        table: "connection_test_request",
        name: "connection_id",
        value: "password",
        is_encrypted: "is_encrypted",
        id: uuid,
    },
    Column {
        what: "extras of connection tests",
        table: "connection_test_request",
        name: "connection_id",
        value: "extra",
        is_encrypted: "is_extra_encrypted",
        id: uuid,
    },
];

async fn rotate(tx: &mut Tx, fernet: &Fernet, column: &Column) -> Result<u64, Error> {
    let Column { what, table, name, value, is_encrypted, id } = column;
    let present = present(is_encrypted, value);
    let select = format!(
        "SELECT id, {{name:{name}}} AS name, {value} AS token FROM {{name:{table}}} WHERE {present} ORDER BY id"
    );
    let update = format!("UPDATE {{name:{table}}} SET {value} = ? WHERE id = ? AND {value} = ?");
    let mut count = 0;
    for row in tx.fetch_text(what, &select, Vec::new()).await? {
        let before = Stored { text: row.get("token")?, is_encrypted: true };
        let after = fernet.rotate(&before).map_err(|source| {
            let name = row.get::<String>("name").unwrap_or_default();
            Error::Fernet { what: format!("{table} {name:?}, column {value},"), source }
        })?;
        count += tx.execute_text(what, &update, binds![after.text, id(&row)?, before.text]).await?;
    }
    Ok(count)
}

fn present(is_encrypted: &str, value: &str) -> String {
    format!("{is_encrypted} AND {value} IS NOT NULL AND {value} <> ''")
}

fn number(row: &Row) -> Result<Bind, Error> {
    row.get::<i64>("id").map(Bind::from)
}

fn uuid(row: &Row) -> Result<Bind, Error> {
    row.get::<uuid::Uuid>("id").map(Bind::from)
}
