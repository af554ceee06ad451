//! Task instances whose scheduler is gone.
//!
//! Locks: the rows in `task_instance`, without waiting for those that another scheduler has. What was running is put
//! under the care of this scheduler before its executor is asked: should this one die meanwhile, it is an orphan again.

use std::time::Duration;

use ferroflow_db::task_instance::orphans::{self, HandedOut};
use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Db, Error as DbError, Page, ScopedFutureExt as _, Tx};
use ferroflow_executor::{Adopted, Orphan};
use ferroflow_model::id;
use ferroflow_model::outcome::orphan::{self, Adoption};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use uuid::Uuid;

use super::executors::Executors;
use crate::{Context, Error};

/// How many are looked after in one transaction.
const BATCH: u32 = 100;

/// So long after the database did not take it, an orphan is reset again.
const RESET_PAUSE: Duration = Duration::from_secs(2);

/// So long the loop waits for the row of an orphan; where one was locked, so long for each of the others.
const ADOPTION: Duration = Duration::from_secs(1);
const WHERE_ROWS_ARE_LOCKED: Duration = Duration::from_millis(50);

/// What is told of an orphan whose row is another transaction's.
const LOCKED: &str =
    "another transaction has locked its row; what became of it is stored once that has ended";

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
        cx.progress.gets_on();
        let Page { mut found, next } =
            cx.db.read(|tx| async move { orphans::find(tx, after, BATCH).await }.scope_boxed()).await?;
        // After standing still for long, this scheduler is taken for dead until its next heartbeat.
        found.retain(|one| one.queued_by_job_id != Some(cx.job_id));
        if !found.is_empty() {
            look_after(cx, now, executors, &found, &mut report).await?;
        }
        let Some(next) = next else { return Ok(report) };
        after = next;
    }
}

async fn look_after(
    cx: &Context,
    now: Timestamp,
    executors: &impl Executors,
    found: &[HandedOut],
    report: &mut Orphans,
) -> Result<(), Error> {
    let claimed =
        cx.db.transact_in_parts(|tx| claim(tx, cx.job_id, executors, found, now).scope_boxed()).await?;
    report.reset.extend(claimed.reset);
    report.adopted.extend(claimed.adopted);
    report.refused.extend(claimed.refused);
    // All of them are killed before any is waited for.
    let orphans: Vec<Orphan> = claimed.running.iter().map(orphan_of).collect();
    executors.end_tasks(&orphans).await;
    let mut patience = ADOPTION;
    for (running, orphan) in claimed.running.into_iter().zip(orphans) {
        cx.progress.gets_on();
        match executors.adopt(&orphan, patience).await {
            Ok(Adopted::Settled) => report.settled.push(running.key),
            Ok(Adopted::Later) => {
                patience = WHERE_ROWS_ARE_LOCKED;
                report.refused.push((running.key, LOCKED.to_owned()));
            }
            Ok(Adopted::NotBegun | Adopted::Elsewhere) => {
                let reset =
                    cx.db.transact(|tx| reset(tx, &running, Some(cx.job_id), now).scope_boxed()).await;
                match cx.db.unreadable().or_note(reset) {
                    Ok(Some(true)) => report.reset.push(running.key),
                    Ok(_) => {}
                    // It is claimed, so that nobody takes it for an orphan again.
                    Err(error) => {
                        report.refused.push((running.key.clone(), error.to_string()));
                        tokio::spawn(reset_later(cx.db.clone(), cx.job_id, running));
                    }
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

fn orphan_of(running: &HandedOut) -> Orphan {
    Orphan {
        id: running.id,
        try_number: running.try_number,
        state: running.state,
        hostname: running.hostname.clone(),
        pid: running.pid,
        last_seen: running.last_seen,
    }
}

/// Goes on beside the loop until the database takes it: somebody has locked the row, say. If the instance is another's by
/// then, nothing is changed.
async fn reset_later(db: Db, job_id: i64, running: HandedOut) {
    loop {
        tokio::time::sleep(RESET_PAUSE).await;
        let (running, now) = (&running, clock::now());
        let reset = db.transact(|tx| reset(tx, running, Some(job_id), now).scope_boxed()).await;
        match db.unreadable().or_note(reset) {
            Err(error) if error.may_pass() => {}
            _ => return,
        }
    }
}

#[derive(Default)]
struct Claimed {
    reset: Vec<TaskInstanceKey>,
    adopted: Vec<TaskInstanceKey>,
    running: Vec<HandedOut>,
    refused: Vec<(TaskInstanceKey, String)>,
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
        let adoption = orphan::adoption(is_taken);
        tx.begin_part().await?;
        let done = match adoption {
            Adoption::Reset => reset(tx, &one, one.queued_by_job_id, now).await,
            Adoption::Adopted => orphans::adopt(tx, &one, job_id, now).await,
        };
        match (tx.end_part(done).await?, adoption) {
            (Ok(true), Adoption::Reset) => claimed.reset.push(one.key),
            (Ok(true), Adoption::Adopted) if is_taken.is_none() => claimed.adopted.push(one.key),
            (Ok(true), Adoption::Adopted) => claimed.running.push(one),
            (Ok(false), _) => {}
            (Err(DbError::Column(bad)), _) => tx.unreadable().note(&bad),
            (Err(error), _) => claimed.refused.push((one.key, error.to_string())),
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
