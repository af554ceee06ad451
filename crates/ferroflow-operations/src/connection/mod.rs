//! Connections: how tasks reach other systems.

mod add;
mod check_id;
mod create_defaults;
mod delete;
mod export;
mod get;
mod hooks;
mod import;
mod list;
mod test;

use ferroflow_config::nearest;
use serde_json::{Map, Value};

use crate::{OperationError, Operations, connection_text};

pub use add::{ADD, AddRequest, Added, add};
pub use create_defaults::create_defaults;
pub use delete::delete;
pub use export::export;
pub use ferroflow_db::connection::{Connection, StoredConnection};
pub use get::{FoundConnection, get};
pub use hooks::{Answering, Hooks, Tested, UsualConnection};
pub use import::{Entry, IMPORT, ImportRequest, Imported, entries, import};
pub use list::{list, names};
pub use test::{ConnectionTest, check_enabled, test};

/// Whether it has something that is stored encrypted.
pub fn has_secrets(connection: &Connection) -> bool {
    [&connection.password, &connection.extra]
        .iter()
        .any(|text| text.as_ref().is_some_and(|text| !text.is_empty()))
}

/// The members of `extra`.
pub fn extra(connection: &Connection) -> Result<Map<String, Value>, OperationError> {
    let fields = connection_text::extra_fields(connection.extra.as_deref());
    fields.map_err(|problem| unusable(connection, &problem))
}

/// All of a connection in one text.
pub fn uri(connection: &Connection) -> Result<String, OperationError> {
    connection_text::to_uri(connection).map_err(|problem| unusable(connection, &problem))
}

fn unusable(connection: &Connection, problem: &str) -> OperationError {
    let conn_id = &connection.conn_id;
    OperationError::value_error(format!(
        "connection {conn_id} cannot be used: {problem}; `ferroflow connections delete {conn_id}` deletes it"
    ))
}

async fn unknown(operations: &Operations, conn_id: &str) -> OperationError {
    let names = match names(operations).await {
        Ok(names) => names,
        Err(error) => return error,
    };
    let near: Vec<&str> = nearest(conn_id, names.iter().map(|(name, _)| name.as_str()).collect()).collect();
    let help = if near.is_empty() {
        "`ferroflow connections list` shows those that there are".to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    OperationError::not_found(format!("Did not find a connection with `conn_id`={conn_id}; {help}"))
}
