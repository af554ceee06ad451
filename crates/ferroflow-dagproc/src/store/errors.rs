//! What is wrong with a file.

use std::collections::BTreeMap;

use ferroflow_db::{Error, Tx, dag, import_error};
use jiff::Timestamp;

use super::fits::fitting;
use super::timetables::TimetableFailure;
use super::write::Job;
use super::{ImportError, StoredImportError};

/// What is wrong with one file.
#[derive(Default)]
struct Wrong {
    texts: Vec<String>,
    /// Whether DAGs that were not delivered are to be taken out of service.
    flags_dags: bool,
}

/// Writes the import errors of a file, or clears those that it had.
///
/// DAGs that the parse has delivered stay in service, whatever is wrong beside them. A timetable that fails, or a row that
/// cannot be read, takes no DAG out of service at all.
pub(super) async fn write_all(
    tx: &mut Tx,
    job: &Job<'_>,
    failures: &[TimetableFailure],
    delivered: &[String],
) -> Result<Vec<StoredImportError>, Error> {
    let (file, wrong) = (job.file, gather(job, failures));
    if !wrong.contains_key(file.relative_path.as_str()) {
        import_error::clear(tx, &file.bundle_name, &file.relative_path).await?;
    }
    if wrong.is_empty() {
        return Ok(Vec::new());
    }
    let filenames: Vec<&str> = wrong.keys().copied().collect();
    let known = import_error::filenames(tx, &file.bundle_name, &filenames).await?;
    let refused: Vec<String> = job.refused.iter().filter_map(|dag| dag.dag_id.clone()).collect();
    let mut stored = Vec::new();
    for (filename, wrong) in wrong {
        let error = ImportError {
            bundle_name: file.bundle_name.clone(),
            filename: filename.to_owned(),
            stacktrace: wrong.texts.join("\n\n"),
        };
        let is_known = known.contains(&error.filename);
        write(tx, &error, is_known, job.now).await?;
        if wrong.flags_dags && job.takes_out_of_service {
            let named: &[String] = if filename == file.relative_path { &refused } else { &[] };
            dag::flag_import_errors(tx, &file.bundle_name, filename, named, delivered).await?;
            // What they wait for and update stays, as in Airflow: they come back with the events that came before.
            dag::warning::delete_of_stale_dags_of_file(tx, &file.bundle_name, filename, named).await?;
        }
        stored.push(StoredImportError { error, is_new: !is_known });
    }
    Ok(stored)
}

/// Writes one error, over the one that the file had.
pub(super) async fn write(
    tx: &mut Tx,
    error: &ImportError,
    is_known: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let error =
        &ImportError { stacktrace: fitting(tx.dialect(), &error.stacktrace).into_owned(), ..error.clone() };
    if is_known {
        return import_error::update(tx, error, now).await;
    }
    import_error::insert(tx, error, now).await.map(drop)
}

fn gather<'a>(job: &'a Job<'_>, failures: &[TimetableFailure]) -> BTreeMap<&'a str, Wrong> {
    let mut wrong: BTreeMap<&str, Wrong> = BTreeMap::new();
    let mut note = |filename: &'a str, text: String, flags_dags: bool| {
        let entry = wrong.entry(filename).or_default();
        entry.texts.push(text);
        entry.flags_dags |= flags_dags;
    };
    for error in &job.file.parsed.import_errors {
        note(&error.filename, error.stacktrace.clone(), true);
    }
    let file = job.file.relative_path.as_str();
    for dag in &job.refused {
        note(file, dag.reason.clone(), true);
    }
    for dag in job.unreadable.iter().chain(&job.kept_back) {
        note(file, dag.reason.clone(), false);
    }
    for failure in failures {
        let TimetableFailure { dag_id, reason } = failure;
        note(
            file,
            format!("DAG {dag_id} gets no runs from its schedule: its timetable failed.\n{reason}"),
            false,
        );
    }
    wrong
}
