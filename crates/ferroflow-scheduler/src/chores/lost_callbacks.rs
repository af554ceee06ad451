//! Callbacks that an executor had which is gone, or does not know of them any more.
//!
//! No lock: an UPDATE names the state and the holder that were seen.

use std::collections::HashMap;

use ferroflow_db::callback::due::QueuedCallback;
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, callback, job};
use ferroflow_executor::{ExecutorSet, Orphan, WorkloadKey};
use ferroflow_model::state::CallbackState;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::refused::{Done, SetAside, or_set_aside};
use crate::{Context, Error};

/// What is noted of a callback of ours that has ended without that this could be written.
const UNKNOWN_END: &str = "it was called, but what became of it could not be stored";

/// How many are ended at a time: each takes a descriptor.
const BATCH: usize = 100;

/// Takes callbacks back from executors that are gone: they are called by another one. Whatever was left of them has
/// ended before. Returns which.
pub(super) async fn lost_callbacks(
    cx: &Context,
    executors: &ExecutorSet,
    now: Timestamp,
) -> Result<Done<Vec<Uuid>>, Error> {
    let lost = cx.db.read(|tx| find(tx, cx, executors, now).scope_boxed()).await?;
    for some in lost.chunks(BATCH) {
        cx.progress.gets_on();
        let orphans: Vec<Orphan> = some.iter().map(orphan_of).collect();
        // Its row does not tell which executor it was.
        for one in executors.all() {
            one.executor.adopt(&orphans).await;
        }
    }
    if lost.is_empty() {
        return Ok(Done::default());
    }
    let (lost, own) = (&lost, cx.job_id);
    let taken_back: Done<Vec<Uuid>> =
        cx.db.transact_in_parts(|tx| take_back(tx, lost, own).scope_boxed()).await?;
    for callback in lost.iter().filter(|callback| taken_back.done.contains(&callback.id)) {
        tracing::warn!(id = %callback.id, holder = %callback.holder, "executor of a callback is gone; callback is queued again");
    }
    Ok(taken_back)
}

async fn find(
    tx: &mut Tx,
    cx: &Context,
    executors: &ExecutorSet,
    now: Timestamp,
) -> Result<Vec<QueuedCallback>, DbError> {
    let threshold = cx.settings.scheduler.scheduler_health_check_threshold;
    let patience = SignedDuration::try_from(threshold).unwrap_or(SignedDuration::MAX);
    let mut is_alive: HashMap<i64, bool> = HashMap::new();
    let mut lost = Vec::new();
    for callback in callback::due::queued_or_running(tx).await? {
        let holder = callback.holder.job_id;
        let is_lost = if holder == cx.job_id {
            !executors.is_alive(callback.id)
        } else if let Some(is_alive) = is_alive.get(&holder) {
            !is_alive
        } else {
            let found = job::find(tx, holder).await;
            // One whose row cannot be read shows no sign of life.
            let found = tx.unreadable().or_note(found)?.flatten();
            let lives = found.is_some_and(|job| job.is_alive(now, patience));
            is_alive.insert(holder, lives);
            !lives
        };
        if is_lost {
            lost.push(callback);
        }
    }
    Ok(lost)
}

async fn take_back(tx: &mut Tx, lost: &[QueuedCallback], own: i64) -> Result<Done<Vec<Uuid>>, DbError> {
    let mut taken_back = Done::<Vec<Uuid>>::default();
    for callback in lost {
        // Ours was called for certain. Of another's it is not known; to be called twice is better than never.
        let has_ended = callback.state == CallbackState::Running && callback.holder.job_id == own;
        let (state, output) = if has_ended {
            (CallbackState::Failed, Some(UNKNOWN_END))
        } else {
            (CallbackState::Pending, None)
        };
        tx.begin_part().await?;
        let passed_on = callback::due::end(tx, callback, state, output).await;
        let passed_on = tx.end_part(passed_on).await?;
        let row = |reason| SetAside::row(format!("callback {}", callback.id), reason);
        if or_set_aside(passed_on, tx.unreadable(), row, &mut taken_back.set_aside) == Some(true) {
            taken_back.done.push(callback.id);
        }
    }
    Ok(taken_back)
}

fn orphan_of(callback: &QueuedCallback) -> Orphan {
    let process = callback.holder.process.as_ref();
    Orphan {
        workload: WorkloadKey::Callback(callback.id),
        has_begun: process.is_some(),
        hostname: process.map(|process| process.hostname.clone()),
        pid: process.map(|process| process.pid),
        last_seen: process.and_then(|process| process.seen),
        external_executor_id: None,
    }
}
