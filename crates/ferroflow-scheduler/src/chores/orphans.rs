//! Task instances whose scheduler is gone.
//!
//! Locks: the rows in `task_instance`, without waiting for those that another scheduler has. What was running is put
//! under the care of this scheduler before its executor is asked: should this one die meanwhile, it is an orphan again.

use ferroflow_db::task_instance::orphans::{self, HandedOut};
use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx};
use ferroflow_executor::{Adopted, Orphan};
use ferroflow_model::id;
use ferroflow_model::outcome::orphan::{self, Adoption};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use super::executors::Executors;
use crate::{Context, Error};

/// How many are looked after in one transaction.
const BATCH: u32 = 100;

/// What became of orphans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Those that begin anew.
    pub reset: Vec<TaskInstanceKey>,
    /// Those that ran on this host and have ended with their scheduler; their rows tell what became of them.
    pub settled: Vec<TaskInstanceKey>,
    /// Those of executors that this scheduler does not have: it looks after them from now on.
    pub adopted: Vec<TaskInstanceKey>,
    /// Those that could not be looked after, and why; they will be tried again.
    pub refused: Vec<(TaskInstanceKey, String)>,
}

/// Looks after all task instances whose scheduler does not run.
pub async fn orphans(cx: &Context, now: Timestamp, executors: &impl Executors) -> Result<Orphans, Error> {
    let mut report = Orphans::default();
    let mut after = Uuid::nil();
    loop {
        let mut found =
            cx.db.read(|tx| async move { orphans::find(tx, after, BATCH).await }.scope_boxed()).await?;
        let Some(last) = found.last() else { return Ok(report) };
        after = last.id;
        // After standing still for long, this scheduler is taken for dead until its next heartbeat.
        found.retain(|one| one.queued_by_job_id != Some(cx.job_id));
        look_after(cx, now, executors, &found, &mut report).await?;
    }
}

async fn look_after(
    cx: &Context,
    now: Timestamp,
    executors: &impl Executors,
    found: &[HandedOut],
    report: &mut Orphans,
) -> Result<(), Error> {
    let claimed = cx.db.transact(|tx| claim(tx, cx.job_id, executors, found, now).scope_boxed()).await?;
    report.reset.extend(claimed.reset);
    report.adopted.extend(claimed.adopted);
    for running in claimed.running {
        let orphan = Orphan {
            id: running.id,
            try_number: running.try_number,
            state: running.state,
            hostname: running.hostname.clone(),
            pid: running.pid,
        };
        match executors.adopt(&orphan).await {
            Ok(Adopted::Settled) => report.settled.push(running.key),
            Ok(Adopted::NotBegun | Adopted::Elsewhere) => {
                if cx.db.transact(|tx| reset(tx, &running, Some(cx.job_id), now).scope_boxed()).await? {
                    report.reset.push(running.key);
                }
            }
            Err(refusal) => {
                let reason = refusal.to_string();
                tracing::error!(id = %running.id, reason, "an orphaned task instance is not looked after");
                report.refused.push((running.key, reason));
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Claimed {
    reset: Vec<TaskInstanceKey>,
    adopted: Vec<TaskInstanceKey>,
    running: Vec<HandedOut>,
}

async fn claim(
    tx: &mut Tx,
    job_id: i64,
    executors: &impl Executors,
    found: &[HandedOut],
    now: Timestamp,
) -> Result<Claimed, DbError> {
    let ids: Vec<Uuid> = found.iter().map(|one| one.id).collect();
    let mut claimed = Claimed::default();
    for one in orphans::lock(tx, &ids).await? {
        if orphan::orphan(one.row) != orphan::Orphan::Orphaned {
            continue;
        }
        let has_begun = matches!(one.state, TaskState::Running | TaskState::Restarting);
        let is_taken = executors.has(one.executor.as_deref()).then_some(has_begun);
        match orphan::adoption(is_taken) {
            Adoption::Reset => {
                if reset(tx, &one, one.queued_by_job_id, now).await? {
                    claimed.reset.push(one.key);
                }
            }
            Adoption::Adopted => {
                if !orphans::adopt(tx, &one, job_id, now).await? {
                    continue;
                }
                if is_taken.is_none() {
                    claimed.adopted.push(one.key);
                } else {
                    claimed.running.push(one);
                }
            }
        }
    }
    Ok(claimed)
}

/// Lets one begin anew that a scheduler has, the one that queued it or this one. False if it has moved on.
async fn reset(tx: &mut Tx, one: &HandedOut, held_by: Option<i64>, now: Timestamp) -> Result<bool, DbError> {
    let Some(instance) = task_instance::find(tx, one.id).await? else { return Ok(false) };
    if instance.state != Some(one.state) || instance.queued_by_job_id != held_by {
        return Ok(false);
    }
    orphans::reset(tx, &instance, one.queued_by_job_id, id::new_v7(now, rand::random()), now).await
}
