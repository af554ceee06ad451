use ferroflow_config::nearest;
use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection::{self, Connection};
use ferroflow_telemetry::{chain, clock};

use super::Hooks;
use super::check_id::check_id;
use crate::{AuditAction, OperationError, Operations, connection_text};

/// What [`add`] writes to the audit log.
pub const ADD: AuditAction<'static> = AuditAction::named("connections_add");

/// What a type becomes that no installed provider has.
const GENERIC: &str = "generic";

#[derive(Clone)]
pub struct AddRequest {
    pub connection: Connection,
    /// Whether its type becomes `generic` where no installed provider has it.
    pub checks_type: bool,
}

pub struct Added {
    pub connection: Connection,
    /// Why its type is `generic`, if that is not what was asked for.
    pub replaced_type: Option<String>,
}

/// Adds a connection. One of that name is not changed.
pub async fn add(
    operations: &Operations,
    request: AddRequest,
    hooks: &dyn Hooks,
) -> Result<Added, OperationError> {
    operations.audit(&ADD).await;
    let AddRequest { connection, checks_type } = request;
    check_id(&connection.conn_id, &operations.settings)
        .map_err(|problem| OperationError::value_error(format!("Could not create connection. {problem}")))?;
    connection_text::extra_fields(connection.extra.as_deref()).map_err(|problem| {
        OperationError::value_error(format!("connection {}: {problem}", connection.conn_id))
    })?;
    let mut added = Added { connection, replaced_type: None };
    if checks_type {
        replace_unknown_type(&mut added, hooks).await;
    }
    if insert(operations, &added.connection).await? {
        return Ok(added);
    }
    let conn_id = &added.connection.conn_id;
    Err(OperationError::conflict(
        "already_exists",
        format!(
            "A connection with `conn_id`={conn_id} already exists. `ferroflow connections delete {conn_id}` deletes it"
        ),
    ))
}

/// Which types there are only Python knows; if it cannot be asked, nothing is lost.
async fn replace_unknown_type(added: &mut Added, hooks: &dyn Hooks) {
    let name = added.connection.conn_type.as_str();
    let names = match hooks.types().await {
        Ok(names) => names,
        Err(error) => {
            let problem = chain(&error);
            tracing::warn!("whether a provider has connections of type {name} is not known: {problem}");
            return;
        }
    };
    if names.iter().any(|known| known == name) {
        return;
    }
    let near: Vec<&str> = nearest(name, names.iter().map(String::as_str).collect()).collect();
    let help = if near.is_empty() {
        format!("those that there are: {}", names.join(", "))
    } else {
        format!("did you mean {}?", near.join(", "))
    };
    added.replaced_type = Some(format!(
        "no installed provider has connections of type {name}, and {GENERIC} takes its place; {help}"
    ));
    GENERIC.clone_into(&mut added.connection.conn_type);
}

/// False if there is one of that name.
async fn insert(operations: &Operations, connection: &Connection) -> Result<bool, OperationError> {
    let (fernet, now) = (&operations.secrets.fernet, clock::now());
    let inserted = operations.db.transact(|tx| {
        async move {
            if connection::exists(tx, &connection.conn_id).await? {
                return Ok(false);
            }
            connection::insert(tx, fernet, connection, now).await?;
            Ok(true)
        }
        .scope_boxed()
    });
    Ok(inserted.await?)
}
