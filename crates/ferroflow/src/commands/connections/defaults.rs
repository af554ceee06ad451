//! `ferroflow connections create-default-connections`

use anyhow::{Result, anyhow};
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_operations::connection_text;
use ferroflow_python::connections::UsualConnection;
use ferroflow_telemetry::clock;

use crate::session::Session;

/// Adds those that Airflow's own command adds; which they are, it is asked.
pub(super) async fn run(session: &Session, db: &Db) -> Result<()> {
    let usual = super::ask(session, async |types| types.usual().await).await?;
    let wanted: Result<Vec<Connection>> = usual.into_iter().map(connection).collect();
    let (wanted, fernet, now) = (&wanted?, &session.fernet, clock::now());
    let added = db.transact(|tx| {
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

fn connection(usual: UsualConnection) -> Result<Connection> {
    let UsualConnection { conn_id, fields } = usual;
    connection_text::from_fields(&conn_id, fields)
        .map_err(|problem| anyhow!("connection {conn_id}: {problem}"))
}
