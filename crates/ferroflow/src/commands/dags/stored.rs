//! A DAG by its name, as the database has it.

use ferroflow_db::Db;
use ferroflow_operations::dag;

pub(crate) use crate::commands::operations::connect;

/// That there is no such DAG, with what helps to find the right one.
pub(crate) async fn unknown(db: &Db, dag_id: &str) -> anyhow::Error {
    dag::unknown(db, dag_id).await.into()
}
