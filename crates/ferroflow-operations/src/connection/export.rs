use ferroflow_db::connection::Connection;

use super::list;
use crate::{OperationError, Operations};

/// All connections of the database, by their names.
pub async fn export(operations: &Operations) -> Result<Vec<Connection>, OperationError> {
    let mut all: Vec<Connection> =
        list(operations).await?.into_iter().map(|stored| stored.connection).collect();
    all.sort_by(|one, other| one.conn_id.cmp(&other.conn_id));
    Ok(all)
}
