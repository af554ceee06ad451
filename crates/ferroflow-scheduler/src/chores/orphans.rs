//! Task instances whose scheduler is gone.
//!
//! Locks: the rows in `task_instance`, without waiting for those that another scheduler has. What was running is put
//! under the care of this scheduler before its executor is asked: should this one die meanwhile, it is an orphan again.

use std::collections::BTreeMap;

use ferroflow_db::task_instance::orphans::{self, HandedOut};
use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Error as DbError, Page, ScopedFutureExt as _, Tx};
use ferroflow_executor::{Adopted, ExecutorSet, Orphan, TaskTry, WorkloadKey};
use ferroflow_model::id;
use ferroflow_model::outcome::orphan::{self, Adoption};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::scheduling;
use jiff::Timestamp;
use uuid::Uuid;

use super::orphan_retries::{Claimed, Desk, Settled, Waiting, refused, settle};
use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::metrics::Told;
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "orphaned task instances",
    every: |settings| Some(settings.scheduler.orphaned_tasks_check_interval),
    run: |given| reported(orphans(given.cx, given.now, given.executors)),
};

/// How many are looked after in one transaction.
const BATCH: u32 = 100;

/// What became of orphans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Those that begin anew.
    pub reset: Vec<TaskInstanceKey>,
    /// Those that ran on this host and have ended with their scheduler; their rows tell what became of them.
    pub settled: Vec<TaskInstanceKey>,
    /// Those that may go on, and that this scheduler looks after from now on: they are at an executor that it does not
    /// have, or
    pub adopted: Vec<TaskInstanceKey>,
    /// at one that has taken them over, and tells of them.
    pub at_executors: Vec<TaskTry>,
    /// Those that the database does not take yet: they are accounted for [beside the loop](super::OrphanRetries).
    pub later: Vec<TaskInstanceKey>,
    /// Those that could not be looked after, and why; their silence will be noticed.
    pub refused: Vec<(TaskInstanceKey, String)>,
}

impl Report for Orphans {
    fn instances_set_aside(&self) -> &[(TaskInstanceKey, String)] {
        &self.refused
    }

    fn follow_up(&self) -> FollowUp {
        let changed = self.reset.iter().chain(&self.settled).cloned().collect();
        FollowUp { changed, adopt: self.at_executors.clone(), rescan: true, ..FollowUp::default() }
    }

    fn measure(&self, _told: &mut Told) {
        let adopted = self.adopted.len() + self.at_executors.len() + self.settled.len();
        scheduling::orphans(self.reset.len(), adopted);
    }
}

/// Looks after all task instances whose scheduler does not run.
pub async fn orphans(cx: &Context, now: Timestamp, executors: &ExecutorSet) -> Result<Orphans, Error> {
    let mut report = Orphans::default();
    let mut after = Uuid::nil();
    let desk = Desk { db: cx.db.clone(), service: cx.service.clone(), job_id: cx.job_id };
    loop {
        cx.progress.gets_on();
        let Page { mut found, next } =
            cx.db.read(|tx| async move { orphans::find(tx, after, BATCH).await }.scope_boxed()).await?;
        // After standing still for long, this scheduler is taken for dead until its next heartbeat.
        found.retain(|one| one.queued_by_job_id != Some(cx.job_id));
        if !found.is_empty() {
            look_after(cx, now, (executors, &desk), &found, &mut report).await?;
        }
        let Some(next) = next else { return Ok(report) };
        after = next;
    }
}

async fn look_after(
    cx: &Context,
    now: Timestamp,
    (executors, desk): (&ExecutorSet, &Desk),
    found: &[HandedOut],
    report: &mut Orphans,
) -> Result<(), Error> {
    let found =
        cx.db.transact_in_parts(|tx| claim(tx, cx.job_id, executors, found, now).scope_boxed()).await?;
    report.reset.extend(found.reset);
    report.adopted.extend(found.adopted);
    report.refused.extend(found.refused);
    let mut waiting = Vec::new();
    for (orphan, adopted) in ask(executors, found.begun).await {
        cx.progress.gets_on();
        let ended = match adopted {
            Adopted::Running => {
                report.at_executors.push(try_of(&orphan));
                continue;
            }
            Adopted::Unknown(reason) => {
                refused(&orphan, &reason);
                report.refused.push((orphan.key, reason));
                continue;
            }
            Adopted::Ended(reason) => Some(reason),
            Adopted::NotFound => None,
        };
        let claimed = Claimed { orphan, ended };
        // The loop waits for others once: whatever comes after that does not wait here.
        if !report.later.is_empty() {
            report.later.push(claimed.orphan.key.clone());
            waiting.push(Waiting::untried(claimed));
            continue;
        }
        match settle(desk, &claimed, now).await {
            Ok(Settled::Told) => report.settled.push(claimed.orphan.key),
            Ok(Settled::Reset) => report.reset.push(claimed.orphan.key),
            Ok(Settled::MovedOn) => {}
            Err(refusal) if refusal.may_pass() => {
                report.later.push(claimed.orphan.key.clone());
                waiting.push(Waiting::refused(claimed, &refusal));
            }
            Err(refusal) => {
                refused(&claimed.orphan, &chain(&refusal));
                report.refused.push((claimed.orphan.key, refusal.to_string()));
            }
        }
    }
    cx.orphan_retries.take_up(desk, waiting);
    Ok(())
}

/// Asks the executors of orphans what they know of them, each of all of its own at once: it ends what is left of them before
/// any of them is accounted for.
async fn ask(executors: &ExecutorSet, orphans: Vec<HandedOut>) -> Vec<(HandedOut, Adopted)> {
    let mut of_executors: BTreeMap<usize, Vec<HandedOut>> = BTreeMap::new();
    for one in orphans {
        let place = executors.place(one.executor.as_deref()).unwrap_or_default();
        of_executors.entry(place).or_default().push(one);
    }
    let mut answers = Vec::new();
    for (place, of_one) in of_executors {
        let Some(named) = executors.all().get(place) else { continue };
        let asked: Vec<Orphan> = of_one.iter().map(orphan_of).collect();
        let adopted = named.executor.adopt(&asked).await;
        answers.extend(of_one.into_iter().zip(adopted));
    }
    answers
}

#[derive(Default)]
struct Found {
    reset: Vec<TaskInstanceKey>,
    adopted: Vec<TaskInstanceKey>,
    /// Those that an executor may still have.
    begun: Vec<HandedOut>,
    refused: Vec<(TaskInstanceKey, String)>,
}

async fn claim(
    tx: &mut Tx,
    job_id: i64,
    executors: &ExecutorSet,
    found: &[HandedOut],
    now: Timestamp,
) -> Result<Found, DbError> {
    let ids: Vec<Uuid> = found.iter().map(|one| one.id).collect();
    let mut claimed = Found::default();
    for one in orphans::lock(tx, &ids).await? {
        if orphan::orphan(one.row) != orphan::Orphan::Orphaned {
            continue;
        }
        let executor = executors.find(one.executor.as_deref());
        let is_taken = executor.map(|executor| executor.may_have(&orphan_of(&one)));
        let adoption = orphan::adoption(is_taken);
        tx.begin_part().await?;
        let done = match adoption {
            Adoption::Reset => reset(tx, &one, one.queued_by_job_id, now).await,
            Adoption::Adopted => orphans::adopt(tx, &one, job_id, now).await,
        };
        match (tx.end_part(done).await?, adoption) {
            (Ok(true), Adoption::Reset) => claimed.reset.push(one.key),
            (Ok(true), Adoption::Adopted) if is_taken.is_none() => claimed.adopted.push(one.key),
            (Ok(true), Adoption::Adopted) => claimed.begun.push(one),
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

fn try_of(orphan: &HandedOut) -> TaskTry {
    TaskTry { id: orphan.id, key: orphan.key.clone(), try_number: orphan.try_number }
}

/// What an executor has to know of one.
fn orphan_of(handed_out: &HandedOut) -> Orphan {
    Orphan {
        workload: WorkloadKey::Task(try_of(handed_out)),
        has_begun: matches!(handed_out.state, TaskState::Running | TaskState::Restarting),
        hostname: handed_out.hostname.clone(),
        pid: handed_out.pid,
        last_seen: handed_out.last_seen,
        external_executor_id: handed_out.external_executor_id.clone(),
    }
}
