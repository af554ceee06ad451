//! What one parse of a file becomes in the database.
//!
//! [`store_file`] reads the documents and their sources, asks Python about custom timetables, and writes
//! all rows of the file in one transaction. What must not fail together does not: a document that cannot be read is
//! an import error beside the DAGs that can.

pub mod assets;
mod errors;
mod fits;
mod prepare;
mod refused;
mod rows;
mod settings;
pub mod sweep;
mod timetables;
mod versions;
mod warnings;
mod write;

use ferroflow_db::{Db, Json, ScopedFutureExt as _, import_error};
use ferroflow_model::stored_dag::VersionChange;
use ferroflow_python::ParsedFile;
use ferroflow_telemetry::metrics::dag_processing::{self, File};
use jiff::Timestamp;

pub use ferroflow_db::import_error::ImportError;
pub use prepare::RefusedDag;
pub use settings::{StoreSettings, leaves_permissions_out};
pub use timetables::{Description, TimetableFailure, Timetables};

use fits::Columns;
use prepare::prepare;
use write::{Job, Written};

/// How often Python is asked anew because a run was made while it answered.
const MAX_QUESTIONS: usize = 5;

/// A file that was parsed.
#[derive(Clone, Debug)]
pub struct FileResult {
    /// The bundle that it is in.
    pub bundle_name: String,
    /// The version of the bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// What the bundle notes about this version.
    pub version_data: Option<Json>,
    /// The file, within its bundle.
    pub relative_path: String,
    /// What is in it.
    pub parsed: ParsedFile,
    /// How many seconds the parse took.
    pub duration: f64,
}

/// What was stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Each DAG of the file, by its id.
    pub dags: Vec<StoredDag>,
    /// DAGs that could not be stored.
    pub refused: Vec<RefusedDag>,
    /// What is wrong with the file, for listeners.
    pub import_errors: Vec<StoredImportError>,
    /// DAGs whose own timetable failed: they have no next run.
    pub timetable_failures: Vec<TimetableFailure>,
    /// The DAGs of the file that the database does not let be written, for a reason that may pass.
    pub kept_back: Vec<String>,
}

/// What became of a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDag {
    /// The DAG.
    pub dag_id: String,
    /// Whether it had no row before.
    pub is_new: bool,
    /// What became of its versions.
    pub change: VersionChange,
    /// Whether the source text of its version was replaced.
    pub has_new_source: bool,
    /// What made it a new version: places in the document.
    pub changed: Vec<String>,
}

/// An import error that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredImportError {
    /// What is wrong.
    pub error: ImportError,
    /// Whether the file had none before.
    pub is_new: bool,
}

/// Why a file could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database did not do as it was told.
    #[error(transparent)]
    Database(#[from] ferroflow_db::Error),
    /// The process ends, or reading the documents failed in an unforeseen way.
    #[error("reading what was parsed from {file} was interrupted; the file is stored at its next parse")]
    Interrupted {
        /// The file.
        file: String,
        /// What came in between.
        source: tokio::task::JoinError,
    },
    /// Runs are made faster than Python can tell what comes after them.
    #[error(
        "the latest run of DAG {dag_id} changed {MAX_QUESTIONS} times while its timetable was asked for the next one; \
         its file is stored at its next parse"
    )]
    RunsKeepChanging {
        /// The DAG.
        dag_id: String,
    },
}

/// Stores what was parsed.
pub async fn store_file(
    db: &Db,
    mut file: FileResult,
    settings: &StoreSettings,
    timetables: &impl Timetables,
    now: Timestamp,
) -> Result<Stored, StoreError> {
    let documents = std::mem::take(&mut file.parsed.dags);
    let columns = Columns::of(db.dialect(), settings);
    let prepared = tokio::task::spawn_blocking(move || prepare(documents, columns))
        .await
        .map_err(|source| StoreError::Interrupted { file: file.relative_path.clone(), source })?;
    let mut moved = String::new();
    for _ in 0..MAX_QUESTIONS {
        let answers = timetables::ask(db, &prepared.dags, timetables).await?;
        let job = Job {
            file: &file,
            dags: prepared.dags.iter().collect(),
            refused: prepared.refused.clone(),
            unreadable: Vec::new(),
            kept_back: Vec::new(),
            takes_out_of_service: true,
            answers: &answers,
            settings,
            now,
        };
        match write_what_the_database_takes(db, job).await? {
            Written::Stored(stored) => {
                tell(&file, &stored);
                return Ok(stored);
            }
            Written::RunWasMade { dag_id } => moved = dag_id,
        }
    }
    Err(StoreError::RunsKeepChanging { dag_id: moved })
}

/// A DAG with a value that the database refuses becomes an import error, and does not keep its siblings back. Nor does one
/// of which something stored cannot be read, or which a trigger keeps from being written; that stays in service as it is.
async fn write_what_the_database_takes(db: &Db, mut job: Job<'_>) -> Result<Written, ferroflow_db::Error> {
    let mut written = write_all(db, &job).await;
    let path = &job.file.relative_path;
    if let Err(error) = &written
        && refused::is_about_a_dag(error)
        && !job.dags.is_empty()
    {
        tracing::debug!(path, %error, "looking for DAGs that the database refuses");
        let left_out = refused::find(db, &job).await?;
        job.dags.retain(|dag| !left_out.contains(dag.id()));
        job.refused.extend(left_out.refused);
        job.unreadable.extend(left_out.unreadable);
        job.kept_back.extend(left_out.kept_back);
        written = write_all(db, &job).await;
    }
    match written {
        Err(error) if refused::is_about_a_dag(&error) => {
            tracing::warn!(path, %error, "DAGs of a file that has import errors may stay in service");
            write_all(db, &Job { takes_out_of_service: false, ..job }).await
        }
        written => written,
    }
}

async fn write_all(db: &Db, job: &Job<'_>) -> Result<Written, ferroflow_db::Error> {
    db.transact(|tx| async move { write::write(tx, job).await }.scope_boxed()).await
}

/// Notes that parsing a file came to no end: its process crashed, or took too long.
///
/// Its DAGs stay as they are: what was known of them is still true, and the cause may be the machine. The error tells
/// users, and goes with the next parse that succeeds.
pub async fn store_failure(
    db: &Db,
    bundle_name: &str,
    relative_path: &str,
    text: &str,
    now: Timestamp,
) -> Result<StoredImportError, ferroflow_db::Error> {
    let error = &ImportError {
        bundle_name: bundle_name.to_owned(),
        filename: relative_path.to_owned(),
        stacktrace: text.to_owned(),
    };
    let known = db.transact(|tx| {
        async move {
            let known = import_error::filenames(tx, &error.bundle_name, &[&error.filename]).await?;
            errors::write(tx, error, !known.is_empty(), now).await?;
            Ok(known)
        }
        .scope_boxed()
    });
    let is_new = known.await?.is_empty();
    Ok(StoredImportError { error: error.clone(), is_new })
}

/// Logs what happened, after it has.
fn tell(file: &FileResult, stored: &Stored) {
    let (bundle, path) = (&file.bundle_name, &file.relative_path);
    for dag in &stored.dags {
        match dag.change {
            VersionChange::NewVersion => tracing::info!(
                dag_id = dag.dag_id, bundle, path, changed = ?dag.changed, "the DAG has a new version"
            ),
            change => tracing::debug!(dag_id = dag.dag_id, bundle, path, ?change, "the DAG is stored"),
        }
    }
    for refused in &stored.refused {
        tracing::error!(dag_id = refused.dag_id, bundle, path, reason = refused.reason, "a DAG is refused");
    }
    for failure in &stored.timetable_failures {
        let TimetableFailure { dag_id, reason } = failure;
        dag_processing::timetable_failed(File { bundle_name: bundle, path });
        tracing::error!(dag_id, bundle, path, reason, "the DAG's timetable failed: it has no next run");
    }
}
