use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection::{self, Connection};
use ferroflow_telemetry::clock;

use super::{Hooks, UsualConnection};
use crate::{OperationError, Operations, connection_text};

/// Adds the connections that Airflow's own command adds, but for those that are there.
pub async fn create_defaults(operations: &Operations, hooks: &dyn Hooks) -> Result<(), OperationError> {
    let usual = hooks.usual().await?;
    let wanted: Result<Vec<Connection>, OperationError> = usual.into_iter().map(connection).collect();
    let (wanted, fernet, now) = (&wanted?, &operations.secrets.fernet, clock::now());
    let added = operations.db.transact(|tx| {
        async move {
            for connection in wanted {
                if !connection::exists(tx, &connection.conn_id).await? {
                    connection::insert(tx, fernet, connection, now).await?;
                }
            }
            Ok(())
        }
        .scope_boxed()
    });
    Ok(added.await?)
}

fn connection(usual: UsualConnection) -> Result<Connection, OperationError> {
    let UsualConnection { conn_id, fields } = usual;
    connection_text::from_fields(&conn_id, fields)
        .map_err(|problem| OperationError::value_error(format!("connection {conn_id}: {problem}")))
}
