//! Callbacks that executors run.
//!
//! Locks: the rows in `callback`, without waiting for those that another scheduler has, so that no two of ours dispatch
//! one. (Official schedulers do not lock them. A row that one of them dispatches meanwhile has left its state.)

use ferroflow_db::callback::Callback;
use ferroflow_db::due_callback::{self, Holder, Move};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, dag, missed_deadline};
use ferroflow_executor::{Bundle, CallbackWorkload};
use ferroflow_model::extended_json;
use ferroflow_model::state::CallbackState;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::executors::Executors;
use super::lost_callbacks::lost_callbacks;
use crate::error::or_reason;
use crate::{Context, Error};

/// How many are dealt with at a time; the others are by the next chore.
const BATCH: usize = 100;

/// A callback that goes to an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorCallback {
    /// The executor; the default one if none is named.
    pub executor: Option<String>,
    /// What that is to run. Its row is queued now.
    pub workload: CallbackWorkload,
}

/// What became of callbacks that wait for an executor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutorCallbacks {
    /// Those that are to be handed over.
    pub queued: Vec<ExecutorCallback>,
    /// Those that no executor can run, and why; they have failed.
    pub refused: Vec<(Uuid, String)>,
    /// Those that were taken back from executors that are gone.
    pub taken_back: Vec<Uuid>,
}

/// Picks the callbacks that go to executors, as many as these have room for.
pub async fn executor_callbacks(
    cx: &Context,
    now: Timestamp,
    executors: &impl Executors,
) -> Result<ExecutorCallbacks, Error> {
    let taken_back = lost_callbacks(cx, executors, now).await?;
    let room = u32::try_from(executors.free_slots().min(BATCH)).unwrap_or_default();
    if room == 0 {
        return Ok(ExecutorCallbacks { taken_back, ..ExecutorCallbacks::default() });
    }
    let picked = cx.db.transact(|tx| pick(tx, executors, room, cx.job_id).scope_boxed()).await?;
    Ok(ExecutorCallbacks { taken_back, ..picked })
}

async fn pick(
    tx: &mut Tx,
    executors: &impl Executors,
    room: u32,
    job_id: i64,
) -> Result<ExecutorCallbacks, DbError> {
    let mut report = ExecutorCallbacks::default();
    let holder = Holder { job_id, process: None }.to_string();
    for callback in due_callback::lock_pending(tx, room).await? {
        let routed = or_reason(route(tx, &callback, executors, job_id).await)?.flatten();
        let (to, output, route) = match routed {
            Ok(route) => (CallbackState::Queued, Some(holder.clone()), Ok(route)),
            Err(reason) => (CallbackState::Failed, Some(reason.clone()), Err(reason)),
        };
        // No trigger calls it, whatever its row says.
        let moved = Move { state: to, data: callback.data.clone(), trigger_id: None, output };
        if !due_callback::move_on(tx, callback.id, callback.state, &moved).await? {
            continue;
        }
        match route {
            Ok(routed) => report.queued.push(routed),
            Err(reason) => {
                tracing::error!(id = %callback.id, reason, "a callback is not run");
                report.refused.push((callback.id, reason));
            }
        }
    }
    Ok(report)
}

/// Which executor runs a callback, and what that is told; or why none can.
async fn route(
    tx: &mut Tx,
    callback: &Callback,
    executors: &impl Executors,
    job_id: i64,
) -> Result<Result<ExecutorCallback, String>, DbError> {
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
    let Some(run) = missed_deadline::run(tx, run_id).await? else {
        return Ok(Err("the run that it is about is gone".to_owned()));
    };
    let Some(dag) = dag::find(tx, &run.dag_id).await? else {
        return Ok(Err(format!("DAG {:?}, which it is about, is gone", run.dag_id)));
    };
    let workload = CallbackWorkload {
        id: callback.id,
        data: callback.data.clone(),
        dag_rel_path: dag.relative_fileloc.unwrap_or_default(),
        bundle_info: Bundle { name: dag.bundle_name, version: run.bundle_version },
        log_path: format!("executor_callbacks/{}/{}/{}", run.dag_id, run.run_id, callback.id),
        job_id,
    };
    Ok(Ok(ExecutorCallback { executor: executor.map(str::to_owned), workload }))
}

/// Airflow writes it as text.
fn row_id(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}
