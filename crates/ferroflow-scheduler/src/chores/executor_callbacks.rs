//! Callbacks that executors run.
//!
//! Locks: the rows in `callback`, without waiting for those that another scheduler has, so that no two of ours dispatch
//! one. (Official schedulers do not lock them. A row that one of them dispatches meanwhile has left its state.)

use ferroflow_db::callback::Callback;
use ferroflow_db::dag_run::DagRun;
use ferroflow_db::due_callback::{self, Move};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, missed_deadline};
use ferroflow_model::extended_json;
use ferroflow_model::state::CallbackState;
use serde_json::Value;
use uuid::Uuid;

use super::executors::Executors;
use crate::{Context, Error};

/// How many are dealt with at a time; the others are by the next chore.
const BATCH: usize = 100;

/// A callback that goes to an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorCallback {
    /// Its row, which is queued now.
    pub callback: Callback,
    /// The executor; the default one if none is named.
    pub executor: Option<String>,
    /// The run that it is about.
    pub run: DagRun,
}

/// What became of callbacks that wait for an executor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutorCallbacks {
    /// Those that are to be handed over.
    pub queued: Vec<ExecutorCallback>,
    /// Those that no executor can run, and why; they have failed.
    pub refused: Vec<(Uuid, String)>,
}

/// Picks the callbacks that go to executors, as many as these have room for.
pub async fn executor_callbacks(
    cx: &Context,
    executors: &impl Executors,
) -> Result<ExecutorCallbacks, Error> {
    let room = u32::try_from(executors.free_slots().min(BATCH)).unwrap_or_default();
    if room == 0 {
        return Ok(ExecutorCallbacks::default());
    }
    Ok(cx.db.transact(|tx| pick(tx, executors, room).scope_boxed()).await?)
}

async fn pick(tx: &mut Tx, executors: &impl Executors, room: u32) -> Result<ExecutorCallbacks, DbError> {
    let mut report = ExecutorCallbacks::default();
    for callback in due_callback::lock_pending(tx, room).await? {
        let (to, output, route) = match route(tx, &callback, executors).await? {
            Ok(route) => (CallbackState::Queued, callback.output.clone(), Ok(route)),
            Err(reason) => (CallbackState::Failed, Some(reason.clone()), Err(reason)),
        };
        let moved = Move { state: to, data: callback.data.clone(), trigger_id: callback.trigger_id, output };
        if !due_callback::move_on(tx, callback.id, callback.state, &moved).await? {
            continue;
        }
        match route {
            Ok((executor, run)) => {
                let callback = Callback { state: Some(to), ..callback };
                report.queued.push(ExecutorCallback { callback, executor, run });
            }
            Err(reason) => {
                tracing::error!(id = %callback.id, reason, "a callback is not run");
                report.refused.push((callback.id, reason));
            }
        }
    }
    Ok(report)
}

type Route = Result<(Option<String>, DagRun), String>;

/// Which executor runs a callback, and which run it is about.
async fn route(tx: &mut Tx, callback: &Callback, executors: &impl Executors) -> Result<Route, DbError> {
    let Ok(data) = callback.data.value() else { return Ok(Err("it is not JSON".to_owned())) };
    let data = extended_json::decode(&data);
    let executor = data["executor"].as_str();
    if !executors.has(executor) {
        return Ok(Err(format!("there is no executor {:?} here", executor.unwrap_or_default())));
    }
    if !executors.runs_callbacks(executor) {
        let name =
            executor.map_or_else(|| "the default executor".to_owned(), |name| format!("executor {name:?}"));
        return Ok(Err(format!("{name} does not run callbacks")));
    }
    let Some(run_id) = row_id(&data["dag_run_id"]) else {
        return Ok(Err("it does not say which run it is about".to_owned()));
    };
    Ok(match missed_deadline::run(tx, run_id).await? {
        Some(run) => Ok((executor.map(str::to_owned), run)),
        None => Err("the run that it is about is gone".to_owned()),
    })
}

/// Airflow writes it as text.
fn row_id(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
