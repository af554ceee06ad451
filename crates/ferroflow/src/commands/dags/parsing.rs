//! DAG files, parsed here and now for a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use ferroflow_component::{Runtime, Shutdown};
use ferroflow_dagproc::Context;
use ferroflow_dagproc::once::{FileParsed, Pass};
use ferroflow_model::stored_dag::ParsedDag;
use ferroflow_python::{ImportError, ParseOutcome};

use crate::commands::operations;
use crate::output::{Format, Progress};
use crate::session::{Session, block_on_threads};

/// A file of a bundle and what is in it.
#[derive(Debug)]
pub(crate) struct LocalFile<T> {
    pub(crate) bundle_name: String,
    /// Where it is in there.
    pub(crate) relative_path: String,
    /// How long the parse took.
    pub(crate) duration: Duration,
    pub(crate) dags: Vec<LocalDag<T>>,
    /// What is wrong with it, also if the process that parsed it came to no good end.
    pub(crate) errors: Vec<ImportError>,
}

/// A DAG of a file.
#[derive(Debug)]
pub(crate) struct LocalDag<T> {
    pub(crate) dag_id: String,
    fileloc: Option<String>,
    /// What the command wants to know of it.
    pub(crate) told: T,
}

/// Runs what needs DAG files to be parsed. Ctrl-C ends it, and all processes that it has started.
pub(crate) fn with_parser<T>(
    session: &Session,
    work: impl AsyncFnOnce(&Arc<Context>) -> Result<T>,
) -> Result<T> {
    block_on_threads(async {
        let Shutdown { stop, .. } = Shutdown::on_signals(|| {})?;
        let interrupted = || anyhow!("interrupted");
        let db = operations::connect(session).await?;
        let runtime = Runtime::new(session, db, session.host(), Vec::new())?;
        let cx = tokio::select! {
            cx = Context::start(&runtime) => cx,
            () = stop.cancelled() => return Err(interrupted()),
        };
        let cx = Arc::new(cx.context("DAG files cannot be parsed")?);
        let outcome = tokio::select! {
            outcome = work(&cx) => outcome,
            () = stop.cancelled() => Err(interrupted()),
        };
        runtime.close().await;
        outcome
    })
}

/// Parses the files of the named bundles, of all that are configured if none is named. Of a DAG that is in several files
/// of a bundle, one counts.
pub(crate) async fn parse_all<T: Told>(
    cx: &Arc<Context>,
    bundle_names: &[String],
    format: Format,
) -> Result<Vec<LocalFile<T>>> {
    let mut files = parse_each(cx, bundle_names, format).await?;
    refuse_duplicates(&mut files);
    Ok(files)
}

/// The same, with all that each file has: so a DAG processor takes them.
pub(crate) async fn parse_each<T: Told>(
    cx: &Arc<Context>,
    bundle_names: &[String],
    format: Format,
) -> Result<Vec<LocalFile<T>>> {
    let pass = Pass::to_look(cx, bundle_names).await?;
    let mut progress = Progress::new(pass.files(), "files parsed", format);
    let files = pass.parse(LocalFile::of, |done| progress.tell(done)).await?;
    drop(progress);
    Ok(files)
}

impl<T: Told> LocalFile<T> {
    pub(crate) fn of(file: FileParsed) -> Self {
        let FileParsed { bundle_name, relative_path, duration, outcome } = file;
        let error = |stacktrace| ImportError { filename: relative_path.clone(), stacktrace };
        let (documents, mut errors) = match outcome {
            ParseOutcome::Parsed(parsed) => (parsed.dags, parsed.import_errors),
            ParseOutcome::Failed(failure) => (Vec::new(), vec![error(failure.to_string())]),
            ParseOutcome::CallbacksRun => (Vec::new(), Vec::new()),
        };
        let mut dags = Vec::new();
        for document in documents {
            match ParsedDag::read(&document) {
                Ok(parsed) => dags.push(LocalDag {
                    dag_id: parsed.dag.dag_id.to_string(),
                    fileloc: parsed.dag.fileloc.as_deref().map(str::to_owned),
                    told: T::of(&parsed),
                }),
                Err(refusal) => {
                    let name = refusal.dag_id.map_or_else(|| "a DAG".to_owned(), |id| format!("DAG {id}"));
                    let problems = refusal.problems;
                    errors.push(error(format!(
                        "{name} cannot be used: its serialized form is not understood.\n{problems}"
                    )));
                }
            }
        }
        Self { bundle_name, relative_path, duration, dags, errors }
    }
}

/// What a command keeps of a DAG: of ten thousand not all fits into memory.
pub(crate) trait Told: Send + 'static {
    fn of(dag: &ParsedDag) -> Self;
}

impl Told for () {
    fn of(_: &ParsedDag) -> Self {}
}

/// Of two files of a bundle that have the same DAG, the first is the one that counts, as it is with Airflow.
fn refuse_duplicates<T>(files: &mut [LocalFile<T>]) {
    let mut known: HashMap<(String, String), Option<String>> = HashMap::new();
    for file in files {
        for dag in std::mem::take(&mut file.dags) {
            let key = (file.bundle_name.clone(), dag.dag_id.clone());
            let Some(place) = known.get(&key).filter(|place| **place != dag.fileloc) else {
                known.insert(key, dag.fileloc.clone());
                file.dags.push(dag);
                continue;
            };
            file.errors.push(ImportError {
                filename: file.relative_path.clone(),
                stacktrace: format!(
                    "AirflowDagDuplicatedIdException: Ignoring DAG {} from {} - also found in {}",
                    dag.dag_id,
                    dag.fileloc.as_deref().unwrap_or(&file.relative_path),
                    place.as_deref().unwrap_or_default(),
                ),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_model::Json;
    use ferroflow_python::ParsedFile;
    use ferroflow_testkit::repository;

    use super::*;

    #[test]
    fn a_dag_that_is_not_understood_is_an_error_beside_the_others() {
        let good = std::fs::read_to_string(repository("testdata/serialized/tutorial.json")).unwrap();
        let nonsense = r#"{"__version": 3, "dag": {"dag_id": "half"}}"#;
        let file = parsed("a.py", &[&good, nonsense]);
        let names: Vec<&str> = file.dags.iter().map(|dag| dag.dag_id.as_str()).collect();
        assert_eq!(names, ["tutorial"]);
        let [error] = &file.errors[..] else { panic!("{:?}", file.errors) };
        assert_eq!(error.filename, "a.py");
        assert!(error.stacktrace.starts_with("DAG half cannot be used: "), "{}", error.stacktrace);
    }

    #[test]
    fn a_name_counts_once_in_a_bundle_and_again_in_another() {
        let tutorial = std::fs::read_to_string(repository("testdata/serialized/tutorial.json")).unwrap();
        let elsewhere = tutorial.replacen("tutorial.py", "other.py", 1);
        assert_ne!(tutorial, elsewhere);
        let mut files =
            [parsed("a.py", &[&tutorial]), parsed("b.py", &[&elsewhere]), parsed("c.py", &[&elsewhere])];
        files[2].bundle_name = "another".to_owned();
        refuse_duplicates(&mut files);
        let counts = files.each_ref().map(|file| (file.dags.len(), file.errors.len()));
        assert_eq!(counts, [(1, 0), (0, 1), (1, 0)]);
        assert_eq!(files[1].errors[0].filename, "b.py");
    }

    fn parsed(path: &str, documents: &[&str]) -> LocalFile<()> {
        let dags = documents.iter().map(|text| Json::from_text((*text).to_owned()).unwrap()).collect();
        LocalFile::of(FileParsed {
            bundle_name: "main".to_owned(),
            relative_path: path.to_owned(),
            duration: Duration::ZERO,
            outcome: ParseOutcome::Parsed(ParsedFile { dags, ..ParsedFile::default() }),
        })
    }
}
