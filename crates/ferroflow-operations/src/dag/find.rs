//! A DAG by its id.

use ferroflow_config::nearest;
use ferroflow_db::dag::{self, list};
use ferroflow_db::dag_version::serialized_dag::{self, SerializedDag};
use ferroflow_db::{Db, Json, ScopedFutureExt as _};
use ferroflow_model::dag::Dag;
use ferroflow_model::stored_dag::timetable_document;
use uuid::Uuid;

use crate::OperationError;

/// A DAG as the database has it.
pub struct StoredDag {
    pub row: dag::Dag,
    /// The version of its newest serialized form,
    pub version: Uuid,
    /// that form,
    pub document: Json,
    /// and what that means.
    pub dag: Dag,
}

pub async fn find_row_if_there(db: &Db, dag_id: &str) -> Result<Option<dag::Dag>, OperationError> {
    Ok(db.read(|tx| async move { dag::find(tx, dag_id).await }.scope_boxed()).await?)
}

/// The row of a DAG, which has to be there.
pub async fn find_row(db: &Db, dag_id: &str) -> Result<dag::Dag, OperationError> {
    match find_row_if_there(db, dag_id).await? {
        Some(row) => Ok(row),
        None => Err(unknown(db, dag_id).await),
    }
}

/// The row of a DAG and its newest serialized form.
pub async fn find(db: &Db, dag_id: &str) -> Result<StoredDag, OperationError> {
    let read = db.read(|tx| {
        async move {
            let Some(row) = dag::find(tx, dag_id).await? else { return Ok(None) };
            Ok(Some((row, serialized_dag::latest(tx, dag_id).await?)))
        }
        .scope_boxed()
    });
    let Some((row, serialized)) = read.await? else { return Err(unknown(db, dag_id).await) };
    let serialized = serialized.ok_or_else(|| {
        let file = row.fileloc.as_deref().unwrap_or("");
        OperationError::unable(
            "not_serialized",
            format!(
                "DAG {dag_id:?} has no serialized form in the database; `ferroflow dags reserialize` makes one of its \
                 file {file}"
            ),
        )
    })?;
    let (version, document) = (serialized.dag_version_id, serialized.data);
    let dag = Dag::decode(document.text()).map_err(|problems| OperationError::Stored {
        what: format!("the serialized form of DAG {dag_id:?}"),
        help: "; `ferroflow dags reserialize` makes a new one",
        source: problems.into(),
    })?;
    Ok(StoredDag { row, version, document, dag })
}

impl StoredDag {
    /// A DAG whose row and newest serialized form these are, as a running task is told of it.
    pub(crate) fn of(row: dag::Dag, serialized: Option<SerializedDag>) -> Result<Self, OperationError> {
        let dag_id = &row.dag_id;
        let serialized = serialized.ok_or_else(|| {
            let message = format!("Dag id {dag_id} not found: its file has not been parsed");
            OperationError::unable("not_serialized", message)
        })?;
        let (version, document) = (serialized.dag_version_id, serialized.data);
        let dag = decoded(dag_id, document.text())?;
        Ok(Self { row, version, document, dag })
    }

    /// The timetable as the DAG's document holds it.
    pub(crate) fn timetable_document(&self) -> Result<Json, OperationError> {
        timetable_document(self.document.text()).map_err(|error| OperationError::Stored {
            what: format!("the timetable of DAG {:?}", self.row.dag_id),
            help: "",
            source: error.into(),
        })
    }

    /// That only Python can say something of its timetable, and cannot be asked.
    pub(crate) fn no_python(&self) -> OperationError {
        let message = format!(
            "DAG {} has a timetable of its own, which is evaluated in Python; here is nobody who can ask it",
            self.row.dag_id
        );
        OperationError::unable("timetable_needs_python", message)
    }
}

/// Reads a stored DAG.
pub(crate) fn decoded(dag_id: &str, text: &str) -> Result<Dag, OperationError> {
    Dag::decode(text).map_err(|problems| OperationError::Stored {
        what: format!("DAG {dag_id:?}"),
        help: "",
        source: problems.into(),
    })
}

/// That there is no such DAG, with what helps to find the right one.
pub async fn unknown(db: &Db, dag_id: &str) -> OperationError {
    let names = match db.read(|tx| async move { list::names(tx).await }.scope_boxed()).await {
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
    OperationError::not_found(format!("DAG {dag_id:?} is not in the database; {help}"))
}
