//! Callbacks that executors run.
//!
//! Locks: the rows in `callback`, without waiting for those that another scheduler has, so that no two of ours dispatch
//! one. (Official schedulers do not lock them. A row that one of them dispatches meanwhile has left its state.)

use std::collections::HashSet;

use std::time::Duration;

use ferroflow_db::callback::due::{Holder, Move};
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, dag, deadline};
use ferroflow_executor::{Bundle, ExecuteCallback, ExecutorSet, Workload, WorkloadKind};
use ferroflow_model::extended_json;
use ferroflow_model::state::CallbackState;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::lost_callbacks::lost_callbacks;
use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::error::or_reason;
use crate::refused::{SetAside, or_set_aside, so_far};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "callbacks for executors",
    // There is no index to find them by, and a missed deadline hastens this.
    every: |_| Some(Duration::from_secs(30)),
    run: |given| reported(executor_callbacks(given.cx, given.now, given.executors)),
};

/// How many are dealt with at a time; the others are by the next chore.
const BATCH: usize = 100;

/// A callback that goes to an executor.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutorCallback {
    /// The executor; the default one if none is named.
    pub executor: Option<String>,
    /// What that is to run. Its row is queued now.
    pub workload: ExecuteCallback,
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
    /// Those that stay as they are.
    pub set_aside: Vec<SetAside>,
}

impl Report for ExecutorCallbacks {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn follow_up(&self) -> FollowUp {
        let queued = self.queued.iter();
        let hand_over =
            queued.map(|one| (one.executor.clone(), Workload::ExecuteCallback(one.workload.clone())));
        FollowUp { hand_over: hand_over.collect(), ..FollowUp::default() }
    }
}

/// Picks the callbacks that go to executors, as many as these have room for.
pub async fn executor_callbacks(
    cx: &Context,
    now: Timestamp,
    executors: &ExecutorSet,
) -> Result<ExecutorCallbacks, Error> {
    let lost = lost_callbacks(cx, executors, now).await?;
    let mut report = ExecutorCallbacks {
        taken_back: lost.done,
        set_aside: lost.set_aside,
        ..ExecutorCallbacks::default()
    };
    let room = executors.room(WorkloadKind::ExecuteCallback).min(BATCH);
    let mut passed = HashSet::new();
    while report.queued.len() < room {
        let wanted = room - report.queued.len();
        cx.progress.gets_on();
        let some = cx.db.transact_in_parts(|tx| {
            let (passed, job_id) = (&passed, cx.job_id);
            async move { pick(tx, executors, passed, wanted, job_id).await }.scope_boxed()
        });
        let (some, kept_back) = match some.await {
            Ok(some) => some,
            Err(error) => return so_far(report, error.into()),
        };
        for (id, reason) in &some.refused {
            tracing::error!(%id, reason, "callback has failed: no executor can run it");
        }
        report.queued.extend(some.queued);
        report.refused.extend(some.refused);
        report.set_aside.extend(some.set_aside);
        if kept_back.is_empty() {
            break;
        }
        // Those behind them have their turn.
        passed.extend(kept_back);
    }
    Ok(report)
}

/// Picks as many as are wanted, and tells which it could not change.
async fn pick(
    tx: &mut Tx,
    executors: &ExecutorSet,
    passed: &HashSet<Uuid>,
    wanted: usize,
    job_id: i64,
) -> Result<(ExecutorCallbacks, Vec<Uuid>), DbError> {
    let (mut report, mut kept_back) = (ExecutorCallbacks::default(), Vec::new());
    let limit = u32::try_from(passed.len() + wanted).unwrap_or(u32::MAX);
    let pending = callback::due::lock_pending(tx, limit).await?;
    for callback in pending.iter().filter(|callback| !passed.contains(&callback.id)).take(wanted) {
        tx.begin_part().await?;
        let picked = pick_one(tx, callback, executors, job_id).await;
        let picked = tx.end_part(picked).await?;
        let row = |reason| SetAside::row(format!("callback {}", callback.id), reason);
        match or_set_aside(picked, tx.unreadable(), row, &mut report.set_aside) {
            Some(Some(Ok(queued))) => report.queued.push(queued),
            Some(Some(Err(reason))) => report.refused.push((callback.id, reason)),
            Some(None) => {}
            None => kept_back.push(callback.id),
        }
    }
    Ok((report, kept_back))
}

/// Moves one on, if no other transaction has: to an executor, or to its end, with the reason.
async fn pick_one(
    tx: &mut Tx,
    callback: &Callback,
    executors: &ExecutorSet,
    job_id: i64,
) -> Result<Option<Result<ExecutorCallback, String>>, DbError> {
    let routed = or_reason(route(tx, callback, executors, job_id).await)?.flatten();
    let (state, output) = match &routed {
        Ok(_) => (CallbackState::Queued, Holder { job_id, process: None }.to_string()),
        Err(reason) => (CallbackState::Failed, reason.clone()),
    };
    // No trigger calls it, whatever its row says.
    let moved = Move { state, data: callback.data.clone(), trigger_id: None, output: Some(output) };
    let is_moved = callback::due::set_state(tx, callback.id, callback.state, &moved).await?;
    Ok(is_moved.then_some(routed))
}

/// Which executor runs a callback, and what that is told; or why none can.
async fn route(
    tx: &mut Tx,
    callback: &Callback,
    executors: &ExecutorSet,
    job_id: i64,
) -> Result<Result<ExecutorCallback, String>, DbError> {
    let Ok(data) = callback.data.value() else { return Ok(Err("it is not JSON".to_owned())) };
    let data = extended_json::decode(&data);
    let executor = data["executor"].as_str();
    let Some(found) = executors.find(executor) else {
        return Ok(Err(format!("there is no executor {:?} here", executor.unwrap_or_default())));
    };
    if !found.supports(WorkloadKind::ExecuteCallback) {
        let name =
            executor.map_or_else(|| "the default executor".to_owned(), |name| format!("executor {name:?}"));
        return Ok(Err(format!("{name} does not run callbacks")));
    }
    let Some(run_id) = row_id(&data["dag_run_id"]) else {
        return Ok(Err("it does not say which run it is about".to_owned()));
    };
    let Some(run) = deadline::missed::run(tx, run_id).await? else {
        return Ok(Err("the run that it is about is gone".to_owned()));
    };
    let Some(dag) = dag::find(tx, &run.dag_id).await? else {
        return Ok(Err(format!("DAG {:?}, which it is about, is gone", run.dag_id)));
    };
    let workload = ExecuteCallback {
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
