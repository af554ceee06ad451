//! The files of some bundles, gone through once: for a command, not for a processor that stays.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_model::Json;
use ferroflow_python::bundles::{BundleState, ConfiguredBundle};
use ferroflow_python::{ParseOutcome, ParseRequest, Sink, Stream, parse};
use ferroflow_telemetry::clock;
use tokio::task::JoinSet;

use crate::bundle::{self, Bundle};
use crate::file::DagFile;
use crate::files::Lister;
use crate::parse_file::{self, FileToParse};
use crate::store::{Description, Timetables};
use crate::{Context, Error};

/// The files of some bundles, before they are parsed.
///
/// Dropping the future that goes through them kills the children that are at work.
pub struct Pass {
    cx: Arc<Context>,
    files: Vec<FileToParse>,
}

/// A file that was parsed, and not stored.
#[derive(Clone, Debug)]
pub struct FileParsed {
    /// The bundle that it is in.
    pub bundle_name: String,
    /// The file, within its bundle.
    pub relative_path: String,
    /// How long the parse took.
    pub duration: Duration,
    /// What is in it, or what happened to the process that parsed it.
    pub outcome: ParseOutcome,
}

/// What was stored of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStored {
    /// How many DAGs it has.
    pub dags: usize,
    /// How many import errors it has.
    pub import_errors: usize,
}

type Work<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

impl Pass {
    /// Lists the files of the named bundles, of all that are configured if none is named. Nothing is written.
    pub async fn to_look(cx: &Arc<Context>, bundles: &[String]) -> Result<Self, Error> {
        let mut files = Vec::new();
        for configured in asked(cx.configured().await?, bundles)? {
            files.extend(list(cx, configured).await?);
        }
        Ok(Self { cx: Arc::clone(cx), files })
    }

    /// The same for files that are to be stored. What is configured is noted in the database for that, and what is
    /// not configured any more is made inactive there, whichever bundles are named.
    ///
    /// DAGs whose files are gone stay as they are, as with Airflow: a processor marks them stale.
    pub async fn to_store(cx: &Arc<Context>, bundles: &[String]) -> Result<Self, Error> {
        let all = cx.configured().await?;
        let asked: Vec<String> = asked(all, bundles)?.map(|bundle| bundle.name.clone()).collect();
        let mut files = Vec::new();
        for configured in all {
            let registered = Bundle::new(cx, configured.clone())?.register(cx).await;
            if asked.contains(&configured.name) {
                registered?;
                files.extend(list(cx, configured).await?);
            } else {
                match registered {
                    // The others are served without it.
                    Err(error @ Error::Bundle(_)) => {
                        tracing::error!("{}", ferroflow_telemetry::chain(&error));
                    }
                    registered => registered?,
                }
            }
        }
        let names: BTreeSet<String> = all.iter().map(|bundle| bundle.name.clone()).collect();
        bundle::deactivate_others(cx, &names).await?;
        Ok(Self { cx: Arc::clone(cx), files })
    }

    /// Only the files of which this is so: it is asked with the name of the bundle, and the path within it.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(&str, &str) -> bool) -> Self {
        self.files.retain(|work| is_wanted(&work.file.bundle, &work.file.relative));
        self
    }

    /// Where each file is: the bundle, the path within it, and the path on this host.
    pub fn places(&self) -> impl Iterator<Item = (&str, &str, PathBuf)> {
        let place = |work: &'_ FileToParse| work.bundle_path.join(&*work.file.relative);
        self.files.iter().map(move |work| (&*work.file.bundle, &*work.file.relative, place(work)))
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Parses all, as many at a time as `[dag_processor] parsing_processes` says. What `read` makes of each is
    /// returned in the order of the files; `progress` is told how many are done.
    pub async fn parse<T: Send + 'static>(
        self,
        read: fn(FileParsed) -> T,
        progress: impl FnMut(usize),
    ) -> Result<Vec<T>, Error> {
        let work = move |cx: Arc<Context>, file: FileToParse| -> Work<T> {
            Box::pin(async move { Ok(read(Box::pin(parse_quietly(&cx, file)).await?)) })
        };
        self.each(work, progress).await
    }

    /// Parses all and stores what is in them, each file by itself, as a processor does.
    pub async fn store(self, progress: impl FnMut(usize)) -> Result<Vec<FileStored>, Error> {
        let work = |cx: Arc<Context>, file: FileToParse| -> Work<FileStored> {
            Box::pin(async move {
                let parsed = Box::pin(parse_file::run(&cx, &file)).await?;
                let done = Box::pin(parse_file::store(&cx, &file, parsed)).await?;
                Ok(FileStored { dags: done.dags, import_errors: done.import_errors })
            })
        };
        self.each(work, progress).await
    }

    async fn each<T: Send + 'static>(
        self,
        work: impl Fn(Arc<Context>, FileToParse) -> Work<T>,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<T>, Error> {
        let slots =
            usize::try_from(self.cx.settings.dag_processor.parsing_processes).unwrap_or(usize::MAX).max(1);
        let mut results: Vec<Option<T>> = self.files.iter().map(|_| None).collect();
        let mut waiting = self.files.into_iter().enumerate();
        let (mut tasks, mut done) = (JoinSet::new(), 0);
        loop {
            while tasks.len() < slots
                && let Some((number, file)) = waiting.next()
            {
                let task = work(Arc::clone(&self.cx), file);
                tasks.spawn(async move { (number, task.await) });
            }
            let Some(ended) = tasks.join_next().await else { break };
            let (number, result) = ended?;
            results[number] = Some(result?);
            done += 1;
            progress(done);
        }
        Ok(results.into_iter().flatten().collect())
    }
}

impl Context {
    /// What Python says about a custom timetable, or what went wrong.
    pub async fn describe_timetable(&self, timetable: &Json) -> Result<Description, String> {
        Timetables::describe(&*self.extensions.timetables, timetable).await
    }
}

/// The bundles that are named, all if none is.
fn asked<'a>(
    all: &'a [ConfiguredBundle],
    names: &'a [String],
) -> Result<impl Iterator<Item = &'a ConfiguredBundle>, Error> {
    let known = || all.iter().map(|bundle| bundle.name.as_str());
    let unknown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !known().any(|known| known == *name)).collect();
    if !unknown.is_empty() {
        let known = known().collect::<Vec<_>>().join(", ");
        return Err(Error::UnknownBundles { names: unknown.join(", "), known });
    }
    Ok(all.iter().filter(|bundle| names.is_empty() || names.contains(&bundle.name)))
}

/// Makes the files of a bundle available, and lists them.
async fn list(cx: &Context, bundle: &ConfiguredBundle) -> Result<Vec<FileToParse>, Error> {
    let state = match &bundle.local_path {
        Some(path) => BundleState { path: path.clone(), version: None, version_data: None },
        None => cx.bundles.initialize(&bundle.name).await?,
    };
    let mut lister = Lister::new(cx.listing_rules()?);
    let (path, now): (PathBuf, _) = (state.path.clone(), clock::now());
    let listing = tokio::task::spawn_blocking(move || lister.list(&path, now)).await??;
    for problem in &listing.problems {
        tracing::warn!(bundle = bundle.name, "{}", ferroflow_telemetry::chain(problem));
    }
    let name: Arc<str> = bundle.name.as_str().into();
    let file = |relative: &str| FileToParse {
        file: DagFile::new(&name, relative),
        bundle_path: state.path.clone(),
        bundle_version: state.version.clone(),
        version_data: state.version_data.clone(),
    };
    Ok(listing.files.iter().map(|listed| file(&listed.relative)).collect())
}

/// Parses a file for a command that shows what is in it: what it prints is in no log.
async fn parse_quietly(cx: &Context, work: FileToParse) -> Result<FileParsed, Error> {
    let request = ParseRequest {
        file: work.bundle_path.join(&*work.file.relative),
        bundle_path: work.bundle_path,
        bundle_name: work.file.bundle.to_string(),
        callbacks: Vec::new(),
    };
    let sink: Arc<dyn Sink> = Arc::new(Nowhere);
    let requests = cx.requests_of(&request.file);
    let report = parse(&cx.python, &request, &cx.parse_limits(), &requests, &sink).await?;
    Ok(FileParsed {
        bundle_name: request.bundle_name,
        relative_path: work.file.relative.to_string(),
        duration: report.duration,
        outcome: report.outcome,
    })
}

/// The last lines of a child that fails are kept with its failure.
struct Nowhere;

impl Sink for Nowhere {
    fn line(&self, _: Stream, _: &str) {}
}
