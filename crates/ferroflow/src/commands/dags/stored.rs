//! A DAG by its name, as the database has it.

use anyhow::{Context as _, Result, anyhow};
use ferroflow_config::nearest;
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Db, Json, ScopedFutureExt as _, dag, schema};
use ferroflow_model::dag::Dag;

use crate::session::Session;

/// A database that has the tables this version works with.
pub(crate) async fn connect(session: &Session) -> Result<Db> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    Ok(db)
}

/// A DAG as the database has it.
pub(crate) struct StoredDag {
    pub(crate) row: dag::Dag,
    /// The newest of its serialized forms,
    pub(crate) document: Json,
    /// and what that means.
    pub(crate) dag: Dag,
}

/// The row of a DAG and its serialized form.
pub(crate) async fn find(db: &Db, dag_id: &str) -> Result<StoredDag> {
    let read = db.read(|tx| {
        async move {
            let Some(row) = dag::find(tx, dag_id).await? else { return Ok(None) };
            Ok(Some((row, serialized_dag::latest(tx, dag_id).await?)))
        }
        .scope_boxed()
    });
    let Some((row, serialized)) = read.await? else { return Err(unknown(db, dag_id).await) };
    let document = serialized.map(|serialized| serialized.data).ok_or_else(|| {
        anyhow!(
            "DAG {dag_id:?} has no serialized form in the database; `ferroflow dags reserialize` makes one of its \
             file {}",
            row.fileloc.as_deref().unwrap_or("")
        )
    })?;
    let dag = Dag::decode(document.text()).with_context(|| {
        format!(
            "the serialized form of DAG {dag_id:?} cannot be read; `ferroflow dags reserialize` makes a new one"
        )
    })?;
    Ok(StoredDag { row, document, dag })
}

/// That there is no such DAG, with what helps to find the right one.
pub(crate) async fn unknown(db: &Db, dag_id: &str) -> anyhow::Error {
    let names = match db.read(|tx| async move { dag::list::names(tx).await }.scope_boxed()).await {
        Ok(names) => names,
        Err(error) => return error.into(),
    };
    let near: Vec<&str> = nearest(dag_id, names.iter().map(String::as_str).collect()).collect();
    let help = match (names.is_empty(), near.is_empty()) {
        (true, _) => "it has no DAGs at all: a DAG processor adds those of the DAG files".to_owned(),
        (false, true) => {
            "`ferroflow dags list` shows those that are, `ferroflow dags list-import-errors` the files \
                          that cannot be imported"
                .to_owned()
        }
        (false, false) => format!("did you mean {}?", near.join(", ")),
    };
    anyhow!("DAG {dag_id:?} is not in the database; {help}")
}
