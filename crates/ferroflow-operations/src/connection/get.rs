use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::connection::{self, Connection, StoredConnection};

use super::unknown;
use crate::{OperationError, Operations};

/// A connection, and what its row says of it if it has one.
pub struct FoundConnection {
    pub id: Option<i64>,
    pub is_encrypted: Option<bool>,
    pub connection: Connection,
}

/// The connection that tasks see: of the secrets backend or the environment, if it is there.
pub async fn get(operations: &Operations, conn_id: &str) -> Result<FoundConnection, OperationError> {
    let secrets = &operations.secrets;
    if let Some(connection) = secrets.connection_outside(conn_id).await {
        return Ok(not_stored(connection, secrets.fernet.is_encrypting()));
    }
    let fernet = &secrets.fernet;
    let read = operations
        .db
        .read(|tx| async move { connection::find_stored(tx, fernet, conn_id).await }.scope_boxed());
    match read.await?.filter(|found| found.connection.is_visible_to(None)) {
        Some(found) => Ok(found.into()),
        None => Err(unknown(operations, conn_id).await),
    }
}

/// What Airflow says of one that has no row is whether its password would be encrypted.
fn not_stored(connection: Connection, is_encrypting: bool) -> FoundConnection {
    let password = connection.password.clone().filter(|password| !password.is_empty());
    let is_encrypted = password.is_some().then_some(is_encrypting);
    FoundConnection { id: None, is_encrypted, connection: Connection { password, ..connection } }
}

impl From<StoredConnection> for FoundConnection {
    fn from(StoredConnection { id, is_encrypted, connection }: StoredConnection) -> Self {
        Self { id: Some(id), is_encrypted: Some(is_encrypted), connection }
    }
}
