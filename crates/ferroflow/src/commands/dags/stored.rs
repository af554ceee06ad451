//! A DAG by its name, as the database has it.

use anyhow::Result;
use ferroflow_db::{Db, schema};
use ferroflow_operations::dag;

use crate::session::Session;

/// A database that has the tables this version works with.
pub(crate) async fn connect(session: &Session) -> Result<Db> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    Ok(db)
}

pub(crate) use ferroflow_operations::dag::StoredDag;

/// The row of a DAG and its serialized form.
pub(crate) async fn find(db: &Db, dag_id: &str) -> Result<StoredDag> {
    Ok(dag::find(db, dag_id).await?)
}

/// That there is no such DAG, with what helps to find the right one.
pub(crate) async fn unknown(db: &Db, dag_id: &str) -> anyhow::Error {
    dag::unknown(db, dag_id).await.into()
}
