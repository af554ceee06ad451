//! One file: parsed in a child, and what came of it stored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferroflow_model::Json;
use ferroflow_python::{ParseOutcome, ParseRequest, ParsedFile, parse};
use ferroflow_telemetry::clock;

use crate::Error;
use crate::context::Context;
use crate::extensions::BetweenTransactions;
use crate::file::{DagFile, LastStored};
use crate::store::{self, FileResult, StoredImportError};

/// A file to be parsed.
#[derive(Clone, Debug)]
pub(crate) struct FileToParse {
    pub(crate) file: DagFile,
    pub(crate) bundle_path: PathBuf,
    pub(crate) bundle_version: Option<String>,
    pub(crate) version_data: Option<Json>,
}

/// What a child made of a file.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) outcome: ParseOutcome,
    /// In seconds.
    pub(crate) duration: f64,
}

/// What became of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) dags: usize,
    pub(crate) import_errors: usize,
    /// What is in the database now, if its result is.
    pub(crate) stored: Option<LastStored>,
    /// Files of the bundle that it imports; `None` if that is not known this time.
    pub(crate) imports: Option<Vec<Arc<str>>>,
    /// Whether it is parsed again soon: a DAG of it was kept back, or has no next run because its timetable failed. Both may
    /// pass.
    pub(crate) is_due_soon: bool,
}

/// Parses a file in a child. An error is about us, not about the file.
pub(crate) async fn run(cx: &Context, work: &FileToParse) -> Result<Parsed, Error> {
    let request = ParseRequest {
        file: work.bundle_path.join(&*work.file.relative),
        bundle_path: work.bundle_path.clone(),
        bundle_name: work.file.bundle.to_string(),
        callbacks: Vec::new(),
    };
    let sink = cx.logs.sink(&work.file.bundle, &work.file.relative, clock::now());
    let requests = cx.requests_of(&request.file);
    let report = parse(&cx.python, &request, &cx.parse_limits(), &requests, &sink).await?;
    Ok(Parsed { outcome: report.outcome, duration: report.duration.as_secs_f64() })
}

/// Stores what came of a file, in one transaction, and tells the listeners of its errors afterwards.
pub(crate) async fn store(cx: &Context, work: &FileToParse, parsed: Parsed) -> Result<Done, Error> {
    let now = clock::now();
    match parsed.outcome {
        ParseOutcome::Parsed(file) => store_result(cx, work, file, parsed.duration, now).await,
        ParseOutcome::Failed(failure) => {
            tracing::error!(file = %work.file, "{failure}");
            let text = failure.to_string();
            let noted =
                store::store_failure(&cx.db, &work.file.bundle, &work.file.relative, &text, now).await?;
            tell_listeners(cx, &work.bundle_path, &[noted]).await;
            Ok(Done { import_errors: 1, ..Done::default() })
        }
        ParseOutcome::CallbacksRun => Ok(Done::default()),
    }
}

async fn store_result(
    cx: &Context,
    work: &FileToParse,
    parsed: ParsedFile,
    duration: f64,
    now: jiff::Timestamp,
) -> Result<Done, Error> {
    let imports = parsed.imports.iter().map(|path| path.as_str().into()).collect();
    let result = FileResult {
        bundle_name: work.file.bundle.to_string(),
        bundle_version: work.bundle_version.clone(),
        version_data: work.version_data.clone(),
        relative_path: work.file.relative.to_string(),
        parsed,
        duration,
    };
    let stored = store::store_file(&cx.db, result, &cx.store, &BetweenTransactions(cx), now).await?;
    tell_listeners(cx, &work.bundle_path, &stored.import_errors).await;
    let kept_back: BTreeSet<String> = stored.kept_back.into_iter().collect();
    Ok(Done {
        dags: stored.dags.len(),
        import_errors: stored.import_errors.len(),
        imports: Some(imports),
        is_due_soon: !kept_back.is_empty() || !stored.timetable_failures.is_empty(),
        stored: Some(LastStored { at: now, kept_back }),
    })
}

/// Listeners that fail are heard of in the log only: the errors are stored already.
async fn tell_listeners(cx: &Context, bundle_path: &Path, errors: &[StoredImportError]) {
    if errors.is_empty() {
        return;
    }
    let _waits = cx.waits_for_python();
    if !cx.hears_import_errors().await {
        return;
    }
    for StoredImportError { error, is_new } in errors {
        let path = bundle_path.join(&error.filename);
        if let Err(failure) = cx.listeners.tell_import_error(&path, &error.stacktrace, *is_new).await {
            tracing::error!("a listener failed: {}", ferroflow_telemetry::chain(&failure));
        }
    }
}
