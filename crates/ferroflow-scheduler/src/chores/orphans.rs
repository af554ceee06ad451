//! Task instances whose scheduler is gone.
//!
//! Locks: the rows in `task_instance`, without waiting for those that another scheduler has. What was running is put
//! under the care of this scheduler before its executor is asked: should this one die meanwhile, it is an orphan again.

use ferroflow_db::task_instance::orphans::{self, HandedOut};
use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Error as DbError, Page, ScopedFutureExt as _, Tx};
use ferroflow_executor::Orphan;
use ferroflow_model::id;
use ferroflow_model::outcome::orphan::{self, Adoption};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::metrics::scheduling;
use jiff::Timestamp;
use uuid::Uuid;

use super::report::{FollowUp, Report};
use super::unsettled::{Desk, Settled, Waiting, orphan_of, refused, settle};
use super::{Chore, Executors, reported};
use crate::metrics::Told;
use crate::{Context, Error};

pub(crate) const NAME: &str = "orphaned task instances";

pub(super) fn chore<C: Executors>() -> Chore<C> {
    Chore {
        name: NAME,
        every: |settings| Some(settings.scheduler.orphaned_tasks_check_interval),
        run: |given| reported(orphans(given.cx, given.now, given.executors)),
    }
}

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
    /// Those that the database does not take yet: they are accounted for [beside the loop](super::Unsettled).
    pub later: Vec<TaskInstanceKey>,
    /// Those that could not be looked after, and why; their silence will be noticed.
    pub refused: Vec<(TaskInstanceKey, String)>,
}

impl Report for Orphans {
    fn left_instances(&self) -> &[(TaskInstanceKey, String)] {
        &self.refused
    }

    fn follow_up(&self) -> FollowUp {
        let changed = self.reset.iter().chain(&self.settled).cloned().collect();
        FollowUp { changed, rescan: true, ..FollowUp::default() }
    }

    fn measure(&self, _told: &mut Told) {
        scheduling::orphans(self.reset.len(), self.adopted.len() + self.settled.len());
    }
}

/// Looks after all task instances whose scheduler does not run.
pub async fn orphans(cx: &Context, now: Timestamp, executors: &impl Executors) -> Result<Orphans, Error> {
    let mut report = Orphans::default();
    let mut after = Uuid::nil();
    let desk = Desk { db: cx.db.clone(), job_id: cx.job_id, executors: executors.clone() };
    loop {
        cx.progress.gets_on();
        let Page { mut found, next } =
            cx.db.read(|tx| async move { orphans::find(tx, after, BATCH).await }.scope_boxed()).await?;
        // After standing still for long, this scheduler is taken for dead until its next heartbeat.
        found.retain(|one| one.queued_by_job_id != Some(cx.job_id));
        if !found.is_empty() {
            look_after(cx, now, &desk, &found, &mut report).await?;
        }
        let Some(next) = next else { return Ok(report) };
        after = next;
    }
}

async fn look_after<E: Executors>(
    cx: &Context,
    now: Timestamp,
    desk: &Desk<E>,
    found: &[HandedOut],
    report: &mut Orphans,
) -> Result<(), Error> {
    let executors = &desk.executors;
    let claimed =
        cx.db.transact_in_parts(|tx| claim(tx, cx.job_id, executors, found, now).scope_boxed()).await?;
    report.reset.extend(claimed.reset);
    report.adopted.extend(claimed.adopted);
    report.refused.extend(claimed.refused);
    // All of them are killed before any is waited for.
    let orphans: Vec<Orphan> = claimed.running.iter().map(orphan_of).collect();
    executors.end_tasks(&orphans).await;
    let mut waiting = Vec::new();
    for running in claimed.running {
        cx.progress.gets_on();
        // The loop waits for others once: whatever comes after that does not wait here.
        if !report.later.is_empty() {
            report.later.push(running.key.clone());
            waiting.push(Waiting::untried(running));
            continue;
        }
        match settle(desk, &running, now).await {
            Ok(Settled::Told) => report.settled.push(running.key),
            Ok(Settled::Reset) => report.reset.push(running.key),
            Ok(Settled::MovedOn) => {}
            Err(refusal) if refusal.may_pass() => {
                report.later.push(running.key.clone());
                waiting.push(Waiting::refused(running, &refusal));
            }
            Err(refusal) => {
                refused(&running, &refusal);
                report.refused.push((running.key, refusal.to_string()));
            }
        }
    }
    cx.unsettled.take_up(desk, waiting);
    Ok(())
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
pub(super) async fn reset(
    tx: &mut Tx,
    one: &HandedOut,
    held_by: Option<i64>,
    now: Timestamp,
) -> Result<bool, DbError> {
    let Some(instance) = task_instance::find(tx, one.id).await? else { return Ok(false) };
    if instance.state != Some(one.state) || instance.queued_by_job_id != held_by {
        return Ok(false);
    }
    orphans::reset(tx, &instance, one.queued_by_job_id, id::new_v7(now, rand::random()), now).await
}
