//! One DAG file, parsed in a child.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ferroflow_model::{InvalidJson, Json};
use ferroflow_telemetry::clock::Stopwatch;
use rmpv::Value;
use tokio::net::UnixStream;

use crate::child::{Child, ChildLimits, Entry, Exit, Usage};
use crate::frame::{self, Frame};
use crate::message::{Answer, Answers, from_json, get, map};
use crate::outcome::{Cause, Failure, ParseOutcome, ParseReport};
use crate::output::Sink;
use crate::server::ForkServer;
use crate::{Error, Result};

/// How often a file is tried when the fork server dies meanwhile.
const ATTEMPTS: u32 = 3;
/// How long frames of a child that has ended are waited for; they are in the socket already.
const LAST_FRAMES: Duration = Duration::from_secs(1);

/// What a child is asked to parse.
#[derive(Clone, Debug)]
pub struct ParseRequest {
    /// The file.
    pub file: PathBuf,
    /// The folder of its bundle.
    pub bundle_path: PathBuf,
    /// The bundle.
    pub bundle_name: String,
    /// Callbacks to run in place of serializing the DAGs: Airflow's callback requests.
    pub callbacks: Vec<Json>,
}

/// What a file has in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedFile {
    /// The serialized form of each DAG (the whole document), as Python wrote it: numbers keep their text.
    pub dags: Vec<Json>,
    /// What went wrong, by file.
    pub import_errors: Vec<ImportError>,
    /// What is questionable about its DAGs.
    pub warnings: Vec<DagWarning>,
    /// Files of the bundle that it imports, relative to the bundle.
    pub imports: Vec<String>,
}

/// A file, or a part of it, that could not be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The file, relative to its bundle (absolute for the member of an archive).
    pub filename: String,
    /// What Python said.
    pub stacktrace: String,
}

/// Something questionable about a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DagWarning {
    /// The DAG.
    pub dag_id: String,
    /// `runtime varying value` or `non-existent pool`.
    pub warning_type: String,
    /// What to tell people.
    pub message: String,
}

/// What a parse may use.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// How long it may take.
    pub timeout: Duration,
    /// How long the child may take to end after it has been asked to, or after it has told its result.
    pub grace: Duration,
    /// Bytes of memory; unlimited if not given.
    pub memory: Option<u64>,
}

/// Parses a file in a child of its own, or runs callbacks there. What the child asks meanwhile, `answers` answers;
/// what it prints goes to `sink`.
///
/// An error says that there is no child to be had, and nothing about the file.
pub async fn parse(
    server: &ForkServer,
    request: &ParseRequest,
    limits: &ParseLimits,
    answers: &impl Answers,
    sink: &Arc<dyn Sink>,
) -> Result<ParseReport> {
    let body = match first_body(request) {
        Ok(body) => body,
        Err(problem) => {
            let why = problem.source().map(ToString::to_string).unwrap_or_default();
            return Ok(never_tried(Cause::UnreadableCallback(format!("{problem}: {why}"))));
        }
    };
    if let Some(pid) = server.stuck_with(&request.file) {
        return Ok(never_tried(Cause::CannotBeKilled(pid)));
    }
    let body = Body { value: &body, file: &request.file, runs_callbacks: !request.callbacks.is_empty() };
    for attempt in 1..=ATTEMPTS {
        // Which of several files killed the fork server is not known: they are repeated one at a time, so that the
        // next death tells.
        let tried = if attempt == 1 {
            let _turn = server.among_others().await;
            parse_once(server, body, limits, answers, sink).await
        } else {
            let _turn = server.alone().await;
            parse_once(server, body, limits, answers, sink).await
        };
        match tried {
            Err(Error::Lost) => {
                tracing::warn!(attempt, file = %request.file.display(), "the fork server died while it parsed a file");
            }
            other => return other,
        }
    }
    Ok(never_tried(Cause::ForkServerLost(ATTEMPTS)))
}

fn never_tried(cause: Cause) -> ParseReport {
    let outcome = ParseOutcome::Failed(Failure { cause, tail: String::new() });
    ParseReport { outcome, duration: Duration::ZERO, usage: Usage::default() }
}

/// What a child is sent first.
#[derive(Clone, Copy)]
struct Body<'a> {
    value: &'a Value,
    file: &'a Path,
    runs_callbacks: bool,
}

async fn parse_once(
    server: &ForkServer,
    body: Body<'_>,
    limits: &ParseLimits,
    answers: &impl Answers,
    sink: &Arc<dyn Sink>,
) -> Result<ParseReport> {
    let watch = Stopwatch::start();
    let mut child = server.fork(Entry::Parse, ChildLimits { memory: limits.memory }, sink).await?;
    let (outcome, usage) = match tokio::time::timeout(limits.timeout, attend(&mut child, body, answers)).await
    {
        // A result is one, whatever the exit handlers of user code do with the rest of the time.
        Ok(Ok(Heard::Result(parsed))) => {
            (ParseOutcome::Parsed(parsed), end(&mut child, limits.grace).await.unwrap_or_default())
        }
        Ok(Ok(Heard::Nothing(exit))) if exit.status.success() && body.runs_callbacks => {
            (ParseOutcome::CallbacksRun, exit.usage)
        }
        Ok(Ok(Heard::Nothing(exit))) => {
            let out_of_memory = limits.memory.filter(|_| child.tail().contains("MemoryError"));
            let cause = out_of_memory.map_or(Cause::Ended(exit.status), Cause::OutOfMemory);
            (failed(cause, &child), exit.usage)
        }
        Ok(Err(Error::Frame(reason))) => {
            let usage = ended(child.terminate(limits.grace).await)?;
            (failed(Cause::Garbled(reason), &child), usage)
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => {
            let usage = ended(child.terminate(limits.grace).await)?;
            (failed(Cause::TimedOut(limits.timeout), &child), usage)
        }
    };
    if let Some(remains) = child.into_remains() {
        server.is_stuck(body.file, remains);
    }
    Ok(ParseReport { outcome, duration: watch.elapsed(), usage })
}

fn failed(cause: Cause, child: &Child) -> ParseOutcome {
    ParseOutcome::Failed(Failure { cause, tail: child.tail() })
}

/// Waits for the end of a child that has said all; exit handlers of user code are given no more than the grace.
async fn end(child: &mut Child, grace: Duration) -> Result<Usage> {
    let exit = match tokio::time::timeout(grace, child.wait()).await {
        Ok(exit) => exit,
        Err(_) => child.terminate(grace).await,
    };
    ended(exit)
}

/// What a child used. Of one that cannot be killed nothing is known; its file is not to blame the fork server for.
fn ended(exit: Result<Exit>) -> Result<Usage> {
    match exit {
        Ok(exit) => Ok(exit.usage),
        Err(Error::CannotBeKilled(_)) => Ok(Usage::default()),
        Err(error) => Err(error),
    }
}

/// What a child told.
enum Heard {
    Result(ParsedFile),
    /// It ended.
    Nothing(Exit),
}

/// Talks with a child until it has told its result, or has ended.
async fn attend(child: &mut Child, body: Body<'_>, answers: &impl Answers) -> Result<Heard> {
    let mut channel = child.take_channel().ok_or(Error::Lost)?;
    let mut talk = std::pin::pin!(converse(&mut channel, body, answers));
    let talked = tokio::select! {
        talked = &mut talk => talked,
        exit = child.wait() => {
            exit?;
            // What it said last is in the socket; no process is left that holds it open.
            tokio::time::timeout(LAST_FRAMES, talk).await.unwrap_or(Ok(None))
        }
    };
    match talked? {
        Some(parsed) => Ok(Heard::Result(parsed)),
        None => Ok(Heard::Nothing(child.wait().await?)),
    }
}

/// Sends the request and answers what is asked, until there is a result, or none to come.
async fn converse(
    channel: &mut UnixStream,
    body: Body<'_>,
    answers: &impl Answers,
) -> Result<Option<ParsedFile>> {
    match exchange(channel, body, answers).await {
        // A child that ends closes its end in the middle of anything; how it ended says more.
        Err(Error::Io(_)) => Ok(None),
        other => other,
    }
}

async fn exchange(
    channel: &mut UnixStream,
    body: Body<'_>,
    answers: &impl Answers,
) -> Result<Option<ParsedFile>> {
    frame::write(channel, Frame { id: 0, body: body.value.clone(), third: Value::Nil }).await?;
    while let Some(Frame { id, body, .. }) = frame::read(channel).await? {
        let kind = get(&body, "type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_result = kind == "DagFileParsingResult";
        let parsed = if is_result { Some(read_result(&body)?) } else { None };
        let answer = if is_result { Answer::Done } else { answers.answer(&kind, body).await };
        let (body, third) = answer.into_parts();
        frame::write(channel, Frame { id, body, third }).await?;
        if parsed.is_some() {
            return Ok(parsed);
        }
    }
    Ok(None)
}

/// Airflow's `DagFileParseRequest`. Not one callback is left out: a request without any would mean another thing.
fn first_body(request: &ParseRequest) -> std::result::Result<Value, InvalidJson> {
    let text = |path: &Path| Value::from(path.to_string_lossy().into_owned());
    let callbacks: std::result::Result<Vec<Value>, InvalidJson> =
        request.callbacks.iter().map(|callback| Ok(from_json(callback.value()?))).collect();
    Ok(map([
        ("file", text(&request.file)),
        ("bundle_path", text(&request.bundle_path)),
        ("bundle_name", request.bundle_name.as_str().into()),
        ("callback_requests", Value::Array(callbacks?)),
        ("type", "DagFileParseRequest".into()),
    ]))
}

/// The result that `parse.py` sends.
fn read_result(body: &Value) -> Result<ParsedFile> {
    let missing = |key: &str| Error::Frame(format!("the result has no proper {key}"));
    let list = |key: &str| get(body, key).and_then(Value::as_array).ok_or_else(|| missing(key));
    let text = |value: &Value, key: &str| {
        let text = get(value, key).and_then(Value::as_str).map(str::to_owned);
        text.ok_or_else(|| missing(key))
    };
    let mut parsed = ParsedFile::default();
    for dag in list("dags")? {
        let document = dag.as_str().ok_or_else(|| missing("dags"))?.to_owned();
        parsed.dags.push(Json::from_text(document).map_err(|error| Error::Frame(error.to_string()))?);
    }
    let errors =
        get(body, "import_errors").and_then(Value::as_map).ok_or_else(|| missing("import_errors"))?;
    for (filename, stacktrace) in errors {
        let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| missing("import_errors"));
        parsed.import_errors.push(ImportError { filename: text(filename)?, stacktrace: text(stacktrace)? });
    }
    for warning in list("warnings")? {
        parsed.warnings.push(DagWarning {
            dag_id: text(warning, "dag_id")?,
            warning_type: text(warning, "warning_type")?,
            message: text(warning, "message")?,
        });
    }
    parsed.imports.extend(list("imports")?.iter().filter_map(Value::as_str).map(str::to_owned));
    Ok(parsed)
}
