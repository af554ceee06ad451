//! `connection`: how to reach other systems, with passwords encrypted where a key is configured.

use jiff::Timestamp;

use crate::encoding::fernet::{Fernet, Stored};
use crate::statement::{Bind, Row, binds, sql};
use crate::{Error, Tx};

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
    /// Whether user code of this team may see it: a connection of no team is visible to all.
    pub fn is_visible_to(&self, team_name: Option<&str>) -> bool {
        self.team_name.is_none() || self.team_name.as_deref() == team_name
    }
}

/// A connection as it is in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredConnection {
    /// The number of its row.
    pub id: i64,
    /// Whether its password is encrypted.
    pub is_encrypted: bool,
    /// What it is, in plain text.
    pub connection: Connection,
}

/// Adds a connection. An empty password is no password: NULL. An empty `extra` stays empty. Neither is
/// encrypted then.
pub async fn insert(
    tx: &mut Tx,
    fernet: &Fernet,
    connection: &Connection,
    now: Timestamp,
) -> Result<(), Error> {
    let (password, extra) = encrypted_secrets(fernet, connection, now);
    let mut binds = plain(connection);
    binds.extend(binds![
        is_encrypted(password.as_ref()),
        is_encrypted(extra.as_ref()),
        password.map(|stored| stored.text),
        extra.map(|stored| stored.text),
    ]);
    tx.execute(sql!("connection/insert"), binds).await?;
    Ok(())
}

/// Gives a connection other values, as Airflow's import does: the password stays where there is no other, and `extra`
/// where that is wished.
pub async fn overwrite(
    tx: &mut Tx,
    fernet: &Fernet,
    connection: &Connection,
    keeps_extra: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let conn_id = connection.conn_id.as_str();
    tx.execute(sql!("connection/update"), plain(connection)).await?;
    let (password, extra) = encrypted_secrets(fernet, connection, now);
    if let Some(Stored { text, is_encrypted }) = password {
        tx.execute(sql!("connection/update_password"), binds![text, is_encrypted, conn_id]).await?;
    }
    if !keeps_extra {
        let is_encrypted = is_encrypted(extra.as_ref());
        let text = extra.map(|stored| stored.text);
        tx.execute(sql!("connection/update_extra"), binds![text, is_encrypted, conn_id]).await?;
    }
    Ok(())
}

/// Whether there is a connection of that name, readable or not.
pub async fn exists(tx: &mut Tx, conn_id: &str) -> Result<bool, Error> {
    Ok(tx.fetch_optional(sql!("connection/find"), binds![conn_id]).await?.is_some())
}

/// Deletes a connection. False if there is none of that name.
pub async fn delete(tx: &mut Tx, conn_id: &str) -> Result<bool, Error> {
    Ok(tx.execute(sql!("connection/delete"), binds![conn_id]).await? == 1)
}

/// One connection.
pub async fn find(tx: &mut Tx, fernet: &Fernet, conn_id: &str) -> Result<Option<Connection>, Error> {
    Ok(find_stored(tx, fernet, conn_id).await?.map(|stored| stored.connection))
}

/// One connection, with what its row says besides.
pub async fn find_stored(
    tx: &mut Tx,
    fernet: &Fernet,
    conn_id: &str,
) -> Result<Option<StoredConnection>, Error> {
    let row = tx.fetch_optional(sql!("connection/find"), binds![conn_id]).await?;
    row.map(|row| stored_connection(&row, fernet)).transpose()
}

/// All connections, in the order in which they were made.
pub async fn all(tx: &mut Tx, fernet: &Fernet) -> Result<Vec<StoredConnection>, Error> {
    let rows = tx.fetch_all(sql!("connection/all"), Vec::new()).await?;
    rows.iter().map(|row| stored_connection(row, fernet)).collect()
}

/// The names and types of all connections, in the order in which they were made. Nothing is decrypted.
pub async fn names(tx: &mut Tx) -> Result<Vec<(String, String)>, Error> {
    let rows = tx.fetch_all(sql!("connection/names"), Vec::new()).await?;
    rows.iter().map(|row| Ok((row.get("conn_id")?, row.get("conn_type")?))).collect()
}

/// Stores what was tried with success: as a new connection, or as the settings of the one of this name. What that has
/// besides stays, and so does its password if there is no new one.
pub async fn store_tested(
    tx: &mut Tx,
    fernet: &Fernet,
    tested: &Connection,
    now: Timestamp,
) -> Result<(), Error> {
    let conn_id = tested.conn_id.as_str();
    let extra = tested.extra.as_deref().map(|plain| encrypted(fernet, plain, now));
    let binds = binds![
        tested.conn_type.as_str(),
        tested.host.as_deref(),
        tested.schema.as_deref(),
        tested.login.as_deref(),
        tested.port,
        is_encrypted(extra.as_ref()),
        extra.map(|stored| stored.text),
        conn_id,
    ];
    // A database may count only rows that differ from what is set.
    let is_there = tx.fetch_optional(sql!("connection/find"), binds![conn_id]).await?.is_some();
    if !is_there {
        return insert(tx, fernet, tested, now).await;
    }
    tx.execute(sql!("connection/set_tested"), binds).await?;
    if let Some(password) = tested.password.as_deref().filter(|password| !password.is_empty()) {
        let Stored { text, is_encrypted } = encrypted(fernet, password, now);
        tx.execute(sql!("connection/update_password"), binds![text, is_encrypted, conn_id]).await?;
    }
    Ok(())
}

/// A column that may be encrypted, and the one that says so.
#[derive(Clone, Copy)]
struct Secret {
    column: &'static str,
    flag: &'static str,
}

const PASSWORD: Secret = Secret { column: "password", flag: "is_encrypted" };
const EXTRA: Secret = Secret { column: "extra", flag: "is_extra_encrypted" };

fn stored_connection(row: &Row, fernet: &Fernet) -> Result<StoredConnection, Error> {
    let connection = connection(row, fernet)?;
    Ok(StoredConnection { id: row.get("id")?, is_encrypted: row.get(PASSWORD.flag)?, connection })
}

pub(crate) fn connection(row: &Row, fernet: &Fernet) -> Result<Connection, Error> {
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

/// What is no secret of it, and its name.
fn plain(connection: &Connection) -> Vec<Bind> {
    binds![
        connection.conn_type.as_str(),
        connection.description.as_deref(),
        connection.host.as_deref(),
        connection.schema.as_deref(),
        connection.login.as_deref(),
        connection.port,
        connection.team_name.as_deref(),
        connection.conn_id.as_str(),
    ]
}

/// The password, unless it is empty, and `extra`.
fn encrypted_secrets(
    fernet: &Fernet,
    connection: &Connection,
    now: Timestamp,
) -> (Option<Stored>, Option<Stored>) {
    let encrypted = |secret: &Option<String>| secret.as_deref().map(|plain| encrypted(fernet, plain, now));
    let password = encrypted(&connection.password).filter(|stored| !stored.text.is_empty());
    (password, encrypted(&connection.extra))
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
