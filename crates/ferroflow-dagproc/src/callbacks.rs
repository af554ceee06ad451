//! Callbacks that the scheduler leaves for the DAG processor: claimed, run in a child, deleted.
//!
//! A callback is held while it is run, and its row is deleted afterwards: if the processor dies, another one, or
//! the same after a restart, sees that the holder is dead and runs it. Each has a child of its own, so that one that
//! crashes takes no other with it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::callback::{self, HeldCallback};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, job};
use ferroflow_execution::Asker;
use ferroflow_model::{Json, extended_json, standard_json};
use ferroflow_python::{ParseOutcome, ParseRequest, Sink, parse};
use ferroflow_telemetry::clock::signed;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::Error;
use crate::context::Context;

/// A callback to run.
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    held: HeldCallback,
    request: Request,
}

/// As much of Airflow's request as the processor looks at.
#[derive(Clone, Debug, serde::Deserialize)]
struct Request {
    filepath: String,
    bundle_name: String,
    bundle_version: Option<String>,
    /// All of it, for the child.
    #[serde(skip)]
    whole: Value,
}

/// What this processor holds, as far as it knows.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) job_id: i64,
    pub(crate) ids: HashSet<Uuid>,
    /// Whether nothing is being taken: then rows of its job that it does not know are nobody's.
    pub(crate) is_all: bool,
}

impl Callback {
    pub(crate) fn id(&self) -> Uuid {
        self.held.id
    }

    pub(crate) fn bundle(&self) -> &str {
        &self.request.bundle_name
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

/// Takes callbacks of these bundles. One that cannot be read is removed, with a word about it in the log: nobody
/// could ever run it.
pub(crate) async fn take(
    cx: &Context,
    bundles: &[String],
    limit: u32,
    job_id: i64,
) -> Result<Vec<Callback>, Error> {
    let held = cx
        .db
        .transact(|tx| async move { callback::hold(tx, bundles, limit, job_id).await }.scope_boxed())
        .await?;
    let mut callbacks = Vec::with_capacity(held.len());
    for held in held {
        match read(&held.data) {
            Ok(request) => callbacks.push(Callback { held, request }),
            Err(reason) => {
                tracing::error!(id = %held.id, "a callback cannot be read and is dropped: {reason}");
                delete(cx, &held).await?;
            }
        }
    }
    Ok(callbacks)
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
        async move { callback::hold_some(tx, bundles, is_of_run, job_id).await }.scope_boxed()
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

/// Nobody else would run it later.
async fn run_or_drop(cx: &Context, callback: &Callback, sink: &Arc<dyn Sink>) -> Result<(), Error> {
    let reason = match folder(cx, callback).await {
        Ok(Some(folder)) => return run_with(cx, callback, folder, sink).await,
        Ok(None) => "its bundle is not configured".to_owned(),
        Err(error) => ferroflow_telemetry::chain(&error),
    };
    tracing::error!(file = callback.place(), "a callback is dropped: {reason}");
    finish(cx, callback).await
}

/// Where the file of a callback is: in the version of the bundle that the run used. `None` if the bundle is not configured.
pub(crate) async fn folder(cx: &Context, callback: &Callback) -> Result<Option<PathBuf>, Error> {
    let Request { bundle_name, bundle_version, .. } = &callback.request;
    if !cx.configured().await?.iter().any(|bundle| bundle.name == *bundle_name) {
        return Ok(None);
    }
    cx.bundle_folder(bundle_name, bundle_version.as_deref()).await.map(Some)
}

/// Runs a callback whose bundle is in this folder. What it raises is in the log of its file, as with Airflow.
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
    let report = match parse(&cx.python, &parse_request, &cx.parse_limits(), &requests, sink).await {
        Ok(report) => report,
        Err(error) => {
            give_back(cx, callback).await?;
            return Err(error.into());
        }
    };
    if let ParseOutcome::Failed(failure) = report.outcome {
        tracing::error!(file = callback.place(), "a callback was not run to its end: {failure}");
    }
    finish(cx, callback).await
}

/// Gives a callback back that was not run.
pub(crate) async fn give_back(cx: &Context, callback: &Callback) -> Result<(), Error> {
    let (held, bundle) = (&callback.held, callback.request.bundle_name.as_str());
    cx.db.transact(|tx| async move { callback::release(tx, held, bundle).await }.scope_boxed()).await?;
    Ok(())
}

/// Gives back what processors hold that are dead, and what this one holds without knowing: the connection was lost when it
/// took it or gave it back, say. Returns how many callbacks that were.
pub(crate) async fn rescue(cx: &Context, own: &Held, now: Timestamp) -> Result<usize, Error> {
    let patience = signed(cx.settings.dag_processor.health_check_threshold);
    let is_any =
        cx.db.read(|tx| async move { Ok(!callback::held(tx).await?.is_empty()) }.scope_boxed()).await?;
    if !is_any {
        return Ok(0);
    }
    let rescued = cx.db.transact(|tx| release_of_the_dead(tx, own, patience, now).scope_boxed()).await?;
    if rescued > 0 {
        tracing::warn!(callbacks = rescued, "callbacks that nobody was about to run are given back");
    }
    Ok(rescued)
}

async fn release_of_the_dead(
    tx: &mut Tx,
    own: &Held,
    patience: SignedDuration,
    now: Timestamp,
) -> Result<usize, DbError> {
    let mut is_alive = HashMap::from([(own.job_id, !own.is_all)]);
    let mut rescued = 0;
    for held in callback::held(tx).await? {
        let Some(holder) = held.job_id().filter(|_| !own.ids.contains(&held.id)) else { continue };
        let lives = if let Some(lives) = is_alive.get(&holder) {
            *lives
        } else {
            // One whose row cannot be read shows no sign of life.
            let found = job::find(tx, holder).await;
            tx.unreadable().or_note(found)?.flatten().is_some_and(|job| job.is_alive(now, patience))
        };
        is_alive.insert(holder, lives);
        if lives {
            continue;
        }
        match read(&held.data) {
            Ok(request) => rescued += usize::from(callback::release(tx, &held, &request.bundle_name).await?),
            Err(_) => drop(callback::delete_held(tx, &held).await?),
        }
    }
    Ok(rescued)
}

/// Removes a callback that was run, or never will be.
pub(crate) async fn finish(cx: &Context, callback: &Callback) -> Result<(), Error> {
    delete(cx, &callback.held).await
}

/// However long the database is away: nobody else would, as long as this process lives.
async fn delete(cx: &Context, held: &HeldCallback) -> Result<(), Error> {
    const PAUSE: Duration = Duration::from_secs(5);
    loop {
        let deleted = cx.db.transact(|tx| async move { callback::delete_held(tx, held).await }.scope_boxed());
        match deleted.await {
            Ok(_) => return Ok(()),
            Err(error) => {
                tracing::error!(id = %held.id, "a callback that was run cannot be removed: {}", ferroflow_telemetry::chain(&error));
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn read(data: &Json) -> Result<Request, String> {
    let data = data.value().map_err(|error| error.to_string())?;
    let data = extended_json::decode(&data);
    let text = data.get("req_data").and_then(Value::as_str).ok_or("it has no req_data")?;
    let whole: Value =
        serde_json::from_str(&standard_json(text)).map_err(|error| format!("its req_data: {error}"))?;
    let request: Request = serde_json::from_value(whole.clone()).map_err(|error| error.to_string())?;
    Ok(Request { whole, ..request })
}

#[cfg(test)]
mod tests {
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
    fn what_is_wrong_with_a_callback_is_told() {
        let told = |data: Value| read(&Json::from(data)).unwrap_err();
        assert_eq!(told(serde_json::json!({})), "it has no req_data");
        assert!(told(serde_json::json!({"req_data": "{"})).starts_with("its req_data: "));
        assert!(told(serde_json::json!({"req_data": "{}"})).contains("filepath"));
    }
}
