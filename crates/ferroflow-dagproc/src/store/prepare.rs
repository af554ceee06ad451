//! What is done before a transaction begins: reading documents and sources.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use ferroflow_db::Json;
use ferroflow_model::stored_dag::{ParsedDag, md5_hex};

use super::fits::Columns;
use crate::files::source;

/// The DAGs of a file, ready to be stored.
pub(super) struct Prepared {
    /// By their ids.
    pub(super) dags: Vec<PreparedDag>,
    pub(super) refused: Vec<RefusedDag>,
}

/// A DAG, ready to be stored.
pub(super) struct PreparedDag {
    pub(super) parsed: ParsedDag,
    pub(super) source: String,
    pub(super) source_hash: String,
}

/// A DAG that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedDag {
    /// The DAG, if it is known.
    pub dag_id: Option<String>,
    /// Why.
    pub reason: String,
}

impl RefusedDag {
    pub(super) fn because(dag_id: &str, reason: &str) -> Self {
        let reason = format!("{} cannot be stored: {reason}", name_of(Some(dag_id)));
        Self { dag_id: Some(dag_id.to_owned()), reason }
    }
}

impl PreparedDag {
    pub(super) fn id(&self) -> &str {
        &self.parsed.dag.dag_id
    }
}

/// Reads the documents of a file. Of two with the same id the last one counts.
pub(super) fn prepare(documents: Vec<Json>, columns: Columns) -> Prepared {
    let mut sources = HashMap::new();
    let mut dags = BTreeMap::new();
    let mut refused = Vec::new();
    for document in documents {
        match prepare_dag(&document, columns, &mut sources) {
            Ok(dag) => drop(dags.insert(dag.id().to_owned(), dag)),
            Err(dag) => refused.push(dag),
        }
    }
    Prepared { dags: dags.into_values().collect(), refused }
}

type Sources = HashMap<Box<str>, Result<String, String>>;

fn prepare_dag(document: &Json, columns: Columns, sources: &mut Sources) -> Result<PreparedDag, RefusedDag> {
    let parsed = ParsedDag::read(document).map_err(|refusal| RefusedDag {
        reason: format!(
            "{} cannot be stored: its serialized form is not understood.\n{}",
            name_of(refusal.dag_id.as_deref()),
            refusal.problems
        ),
        dag_id: refusal.dag_id,
    })?;
    let dag_id = parsed.dag.dag_id.to_string();
    let refuse = |reason: String| RefusedDag::because(&dag_id, &reason);
    columns.take(document, &parsed).map_err(refuse)?;
    let place = parsed.dag.fileloc.clone();
    let place = place.ok_or_else(|| refuse("its serialized form does not name its file".to_owned()))?;
    let read = || source(Path::new(&*place)).map_err(|error| ferroflow_telemetry::chain(&error));
    let source = sources.entry(place.clone()).or_insert_with(read).clone().map_err(refuse)?;
    Ok(PreparedDag { source_hash: md5_hex(&source), parsed, source })
}

fn name_of(dag_id: Option<&str>) -> String {
    dag_id.map_or_else(|| "A DAG".to_owned(), |id| format!("DAG {id}"))
}
