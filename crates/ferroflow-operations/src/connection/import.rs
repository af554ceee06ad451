use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection::{self, Connection};
use ferroflow_telemetry::clock;
use serde_json::{Map, Value};

use super::check_id::check_id;
use crate::{AuditAction, OperationError, Operations, connection_text};

/// What [`import`] writes to the audit log.
pub const IMPORT: AuditAction<'static> = AuditAction::named("connections_import");

pub struct ImportRequest {
    pub entries: Vec<Entry>,
    /// Whether connections that are there already are changed.
    pub overwrite: bool,
}

/// A connection of a file.
pub struct Entry {
    pub connection: Connection,
    /// A URI without a query says nothing of `extra`.
    keeps_extra: bool,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    Stored,
    /// There is one, and it stays as it is.
    Exists,
    /// Its name is against Airflow's rules.
    BadName(String),
}

/// Adds connections, one after the other. `report` is told of each.
pub async fn import(
    operations: &Operations,
    request: &ImportRequest,
    mut report: impl FnMut(&Connection, Imported),
) -> Result<(), OperationError> {
    operations.audit(&IMPORT).await;
    for entry in &request.entries {
        let imported = match check_id(&entry.connection.conn_id, &operations.settings) {
            Err(problem) => Imported::BadName(problem),
            Ok(()) => store(operations, entry, request.overwrite).await?,
        };
        report(&entry.connection, imported);
    }
    Ok(())
}

async fn store(operations: &Operations, entry: &Entry, overwrite: bool) -> Result<Imported, OperationError> {
    let Entry { connection, keeps_extra } = entry;
    let (fernet, now) = (&operations.secrets.fernet, clock::now());
    let stored = operations.db.transact(|tx| {
        async move {
            match (connection::exists(tx, &connection.conn_id).await?, overwrite) {
                (true, false) => return Ok(Imported::Exists),
                (true, true) => connection::overwrite(tx, fernet, connection, *keeps_extra, now).await?,
                (false, _) => connection::insert(tx, fernet, connection, now).await?,
            }
            Ok(Imported::Stored)
        }
        .scope_boxed()
    });
    Ok(stored.await?)
}

/// The connections that a file has, each a URI or an object by its name; or what is wrong with the first that is not right.
pub fn entries(file: Map<String, Value>) -> Result<Vec<Entry>, OperationError> {
    let mut entries = Vec::new();
    for (conn_id, value) in file {
        let wrong = |problem: String| OperationError::value_error(format!("connection {conn_id}: {problem}"));
        let value = match value {
            Value::Array(mut values) => match (values.pop(), values.is_empty()) {
                (Some(value), true) => value,
                (None, _) => continue,
                (Some(_), false) => return Err(wrong("there are several values for it".to_owned())),
            },
            value => value,
        };
        entries.push(entry(&conn_id, value).map_err(wrong)?);
    }
    Ok(entries)
}

fn entry(conn_id: &str, value: Value) -> Result<Entry, String> {
    let (connection, is_uri) = match value {
        // Lines of a .env file may have JSON in them: that is how they can be exported.
        Value::String(text) if text.trim_start().starts_with('{') => {
            (connection_text::from_json(conn_id, &text)?, false)
        }
        Value::String(uri) => (connection_text::from_uri(conn_id, &uri)?, true),
        Value::Object(fields) => {
            let is_uri = fields.get("uri").and_then(Value::as_str).is_some_and(|uri| !uri.is_empty());
            (connection_text::from_fields(conn_id, fields)?, is_uri)
        }
        _ => return Err("it is neither a URI nor an object".to_owned()),
    };
    Ok(Entry { keeps_extra: is_uri && connection.extra.is_none(), connection })
}
