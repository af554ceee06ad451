//! Callbacks that the scheduler leaves for the DAG processor: held, run in a child, removed (`held_callbacks.rs`).
//!
//! A callback is held while it is run, and its row is deleted afterwards: if the processor dies, another one, or
//! the same after a restart, sees that the holder is dead and runs it. Each has a child of its own, so that one that
//! crashes takes no other with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::callback::{self, ClaimedCallback};
use ferroflow_execution::wire::Asker;
use ferroflow_model::{Json, extended_json, standard_json};
use ferroflow_python::{Cause, ParseOutcome, ParseRequest, Sink, parse};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::Error;
use crate::context::Context;
use crate::held_callbacks::{delete, give_back, remove};
use crate::waiting_callbacks::Version;

/// So long a command tries to remove a callback that it has run.
const REMOVAL: Duration = Duration::from_secs(15);

/// A callback to run.
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    pub(crate) held: ClaimedCallback,
    pub(crate) request: Request,
}

/// As much of Airflow's request as the processor looks at.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Request {
    filepath: String,
    pub(crate) bundle_name: String,
    bundle_version: Option<String>,
    /// All of it, for the child.
    #[serde(skip)]
    whole: Value,
}

impl Callback {
    pub(crate) fn id(&self) -> Uuid {
        self.held.id
    }

    pub(crate) fn bundle(&self) -> &str {
        &self.request.bundle_name
    }

    /// What of the bundle it needs.
    pub(crate) fn version(&self) -> Version {
        (self.request.bundle_name.clone(), self.request.bundle_version.clone())
    }

    /// The file that defines it, for people.
    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.request.bundle_name, self.request.filepath)
    }
}

impl Request {
    /// Whether it is about a run: the end of it, or that of one of its tasks.
    fn is_of(&self, dag_id: &str, run_id: &str) -> bool {
        let about = self.whole.get("ti").unwrap_or(&self.whole);
        about["dag_id"] == dag_id && about["run_id"] == run_id
    }

    /// Says whose requests they are that it makes.
    fn sign(&self, asker: &mut Asker) {
        let about = self.whole.get("ti").unwrap_or(&self.whole);
        let text = |key: &str| about[key].as_str().map(str::to_owned);
        (asker.dag_id, asker.run_id, asker.task_id) = (text("dag_id"), text("run_id"), text("task_id"));
    }
}

/// Runs the callbacks that a run and its tasks have left, here and now: for a command without a processor beside it.
/// What they print goes to `sink`. Returns how many there were.
pub async fn run_callbacks_of_run(
    cx: &Context,
    (dag_id, run_id): (&str, &str),
    bundle: &str,
    job_id: i64,
    sink: &Arc<dyn Sink>,
) -> Result<usize, Error> {
    let is_of_run = |data: &Json| read(data).is_ok_and(|request| request.is_of(dag_id, run_id));
    let (bundles, is_of_run) = (&[bundle.to_owned()], &is_of_run);
    let held = cx.db.transact(|tx| {
        async move { callback::claim_some(tx, bundles, is_of_run, job_id).await }.scope_boxed()
    });
    let held = held.await?;
    let number = held.len();
    for held in held {
        match read(&held.data) {
            Ok(request) => run_or_drop(cx, &Callback { held, request }, sink).await?,
            Err(_) => delete(cx, &held).await?,
        }
    }
    Ok(number)
}

/// No other processor would run it later.
async fn run_or_drop(cx: &Context, callback: &Callback, sink: &Arc<dyn Sink>) -> Result<(), Error> {
    let reason = match folder(cx, callback).await {
        Ok(Some(folder)) => {
            let run = run_with(cx, callback, folder, sink).await;
            match &run {
                // As long as the row is there, a processor will run it again.
                Ok(()) => _ = tokio::time::timeout(REMOVAL, remove(cx, &callback.held)).await,
                Err(_) => drop(give_back(cx, std::slice::from_ref(&callback.held)).await?),
            }
            return run;
        }
        Ok(None) => "its bundle is not configured".to_owned(),
        Err(error) => ferroflow_telemetry::chain(&error),
    };
    tracing::error!(file = callback.place(), "a callback is dropped: {reason}");
    delete(cx, &callback.held).await
}

/// Where the file of a callback is: in the version of the bundle that the run used. `None` if the bundle is not configured.
pub(crate) async fn folder(cx: &Context, callback: &Callback) -> Result<Option<PathBuf>, Error> {
    let Request { bundle_name, bundle_version, .. } = &callback.request;
    if !cx.configured().await?.iter().any(|bundle| bundle.name == *bundle_name) {
        return Ok(None);
    }
    cx.bundle_folder(bundle_name, bundle_version.as_deref()).await.map(Some)
}

/// Runs a callback whose bundle is in this folder. What it raises is in the log of its file, as with Airflow. An error means
/// that it was not run.
pub(crate) async fn run(
    cx: &Context,
    callback: &Callback,
    bundle_path: PathBuf,
    now: Timestamp,
) -> Result<(), Error> {
    let request = &callback.request;
    let sink = cx.logs.sink(&request.bundle_name, &request.filepath, now);
    run_with(cx, callback, bundle_path, &sink).await
}

async fn run_with(
    cx: &Context,
    callback: &Callback,
    bundle_path: PathBuf,
    sink: &Arc<dyn Sink>,
) -> Result<(), Error> {
    let request = &callback.request;
    let parse_request = ParseRequest {
        file: bundle_path.join(&request.filepath),
        bundle_path,
        bundle_name: request.bundle_name.clone(),
        callbacks: vec![Json::from(request.whole.clone())],
    };
    let mut requests = cx.requests_of(&parse_request.file);
    request.sign(&mut requests.asker);
    let report = parse(&cx.python, &parse_request, &cx.parse_limits(), &requests, sink).await?;
    verdict(report.outcome, callback)
}

/// Whether a callback had a child. However that has ended, it is not run again.
fn verdict(outcome: ParseOutcome, callback: &Callback) -> Result<(), Error> {
    match outcome {
        ParseOutcome::Failed(failure) if matches!(failure.cause, Cause::CannotBeKilled(_)) => {
            Err(Error::StuckFile(failure))
        }
        ParseOutcome::Failed(failure) => {
            tracing::error!(file = callback.place(), "a callback was not run to its end: {failure}");
            Ok(())
        }
        ParseOutcome::Parsed(_) | ParseOutcome::CallbacksRun => Ok(()),
    }
}

pub(crate) fn read(data: &Json) -> Result<Request, String> {
    let data = data.value().map_err(|error| error.to_string())?;
    let data = extended_json::decode(&data);
    let text = data.get("req_data").and_then(Value::as_str).ok_or("it has no req_data")?;
    let whole: Value =
        serde_json::from_str(&standard_json(text)).map_err(|error| format!("its req_data: {error}"))?;
    let request: Request = serde_json::from_value(whole.clone()).map_err(|error| error.to_string())?;
    Ok(Request { whole, ..request })
}

/// One that needs a version of a bundle.
#[cfg(test)]
pub(crate) fn callback_of(bundle: &str, version: &str) -> Callback {
    let whole = serde_json::json!({"filepath": "a.py", "bundle_name": bundle, "bundle_version": version});
    let held = ClaimedCallback { id: Uuid::nil(), data: Json::null(), holder: "ferroflow:1:dags".to_owned() };
    Callback { held, request: serde_json::from_value(whole).expect("it has all that is needed") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ferroflow_python::Failure;

    use super::*;

    #[test]
    fn what_airflow_stores_is_read() {
        let request =
            r#"{"filepath":"a.py","bundle_name":"dags","bundle_version":null,"type":"DagCallbackRequest"}"#;
        let data = serde_json::json!({"req_class": "DagCallbackRequest", "req_data": request});
        let stored = serde_json::json!({"__type": "dict", "__var": data});
        for data in [Json::from(stored), Json::from(data)] {
            let read = read(&data).unwrap();
            assert_eq!((read.filepath.as_str(), read.bundle_name.as_str()), ("a.py", "dags"));
            assert_eq!(read.whole["type"], "DagCallbackRequest");
        }
    }

    #[test]
    fn a_callback_of_a_file_that_a_process_is_stuck_with_was_not_run() {
        let callback = callback_of("dags", "1");
        let verdict = |cause| {
            let failure = Failure { cause, tail: String::new() };
            super::verdict(ParseOutcome::Failed(failure), &callback)
        };
        assert!(matches!(verdict(Cause::CannotBeKilled(4711)), Err(Error::StuckFile(_))));
        assert!(verdict(Cause::TimedOut(Duration::from_secs(1))).is_ok());
        assert!(verdict(Cause::ForkServerLost(3)).is_ok());
    }

    #[test]
    fn what_is_wrong_with_a_callback_is_told() {
        let told = |data: Value| read(&Json::from(data)).unwrap_err();
        assert_eq!(told(serde_json::json!({})), "it has no req_data");
        assert!(told(serde_json::json!({"req_data": "{"})).starts_with("its req_data: "));
        assert!(told(serde_json::json!({"req_data": "{}"})).contains("filepath"));
    }
}
