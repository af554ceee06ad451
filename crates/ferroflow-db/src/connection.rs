//! `connection`: how to reach other systems, with passwords encrypted where a key is configured.

use jiff::Timestamp;

use crate::bind::binds;
use crate::encoding::fernet::{Fernet, Stored};
use crate::error::Error;
use crate::row::Row;
use crate::statement::sql;
use crate::tx::Tx;

/// A connection, in plain text.
#[derive(Clone, PartialEq, Eq)]
pub struct Connection {
    /// Its name.
    pub conn_id: String,
    /// What it connects to: `postgres`, `http`, ….
    pub conn_type: String,
    /// What it is for.
    pub description: Option<String>,
    /// The host, or more of a URL.
    pub host: Option<String>,
    /// The database, or what else the type calls a schema.
    pub schema: Option<String>,
    /// The user.
    pub login: Option<String>,
    /// Their password.
    pub password: Option<String>,
    /// The port.
    pub port: Option<i32>,
    /// More settings: a JSON dict, as text.
    pub extra: Option<String>,
    /// The team it belongs to.
    pub team_name: Option<String>,
}

impl Connection {
    /// Whether user code of this team may see it: a connection of no team is everybody's.
    pub fn is_visible_to(&self, team_name: Option<&str>) -> bool {
        self.team_name.is_none() || self.team_name.as_deref() == team_name
    }
}

/// Adds a connection. An empty password is no password: NULL. An empty `extra` stays empty. Neither is
/// encrypted then.
pub async fn insert(
    tx: &mut Tx,
    fernet: &Fernet,
    connection: &Connection,
    now: Timestamp,
) -> Result<(), Error> {
    let encrypted = |secret: &Option<String>| secret.as_deref().map(|plain| encrypted(fernet, plain, now));
    let password = encrypted(&connection.password).filter(|stored| !stored.text.is_empty());
    let extra = encrypted(&connection.extra);
    let binds = binds![
        connection.conn_id.as_str(),
        connection.conn_type.as_str(),
        connection.description.as_deref(),
        connection.host.as_deref(),
        connection.schema.as_deref(),
        connection.login.as_deref(),
        connection.port,
        connection.team_name.as_deref(),
        is_encrypted(password.as_ref()),
        is_encrypted(extra.as_ref()),
        password.map(|stored| stored.text),
        extra.map(|stored| stored.text),
    ];
    tx.execute(sql!("connection/insert"), binds).await?;
    Ok(())
}

/// One connection.
pub async fn find(tx: &mut Tx, fernet: &Fernet, conn_id: &str) -> Result<Option<Connection>, Error> {
    let row = tx.fetch_optional(sql!("connection/find"), binds![conn_id]).await?;
    row.map(|row| connection(&row, fernet)).transpose()
}

/// A column that may be encrypted, and the one that says so.
#[derive(Clone, Copy)]
struct Secret {
    column: &'static str,
    flag: &'static str,
}

const PASSWORD: Secret = Secret { column: "password", flag: "is_encrypted" };
const EXTRA: Secret = Secret { column: "extra", flag: "is_extra_encrypted" };

fn connection(row: &Row, fernet: &Fernet) -> Result<Connection, Error> {
    let conn_id: String = row.get("conn_id")?;
    let decrypted = |secret| {
        let plain = stored(row, secret)?.map(|stored| fernet.decrypt(&stored)).transpose();
        plain.map_err(|source| Error::Fernet { what: about(&conn_id, secret), source })
    };
    let (password, extra) = (decrypted(PASSWORD)?, decrypted(EXTRA)?);
    Ok(Connection {
        conn_id,
        conn_type: row.get("conn_type")?,
        description: row.optional("description")?,
        host: row.optional("host")?,
        schema: row.optional("schema")?,
        login: row.optional("login")?,
        password,
        port: row.optional("port")?,
        extra,
        team_name: row.optional("team_name")?,
    })
}

/// What a column holds. Empty text is not encrypted, whatever the flag says.
fn stored(row: &Row, secret: Secret) -> Result<Option<Stored>, Error> {
    let is_encrypted: bool = row.get(secret.flag)?;
    let text: Option<String> = row.optional(secret.column)?;
    Ok(text.map(|text| Stored { is_encrypted: is_encrypted && !text.is_empty(), text }))
}

fn encrypted(fernet: &Fernet, plain: &str, now: Timestamp) -> Stored {
    if plain.is_empty() {
        return Stored { text: String::new(), is_encrypted: false };
    }
    fernet.encrypt(plain, now)
}

fn is_encrypted(stored: Option<&Stored>) -> bool {
    stored.is_some_and(|stored| stored.is_encrypted)
}

fn about(conn_id: &str, secret: Secret) -> String {
    format!("{} of connection {conn_id}", secret.column)
}

/// Never shows a secret.
impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({} to {})", self.conn_id, self.conn_type)
    }
}
