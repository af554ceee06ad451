//! Task instances without heartbeat.
//!
//! Lock: each row in `task_instance`, for the transaction that ends its try. Airflow leaves the row to the event that it
//! has its executor invent; here the scan itself changes it, once.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::task_instance::overdue::{self, WithoutHeartbeat};
use ferroflow_db::{Page, ScopedFutureExt as _};
use ferroflow_executor::ExecutorSet;
use ferroflow_model::outcome::Outcome;
use ferroflow_model::outcome::heartbeat::{HeartbeatRow, HeartbeatStatus, heartbeat_status};
use ferroflow_telemetry::clock::signed;
use ferroflow_telemetry::metrics::{TaskTags, scheduling};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::metrics::{Told, failed};
use crate::refused::so_far;
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "task instances without heartbeat",
    every: |settings| Some(settings.scheduler.task_instance_heartbeat_timeout_detection_interval),
    run: |given| reported(heartbeats(given.cx, given.now, given.watching_since, given.executors)),
};

/// What listeners of plugins are told.
const NO_HEARTBEAT: &str = "It was not heard of for longer than [scheduler] task_instance_heartbeat_timeout.";

/// How many are dealt with at a time; the others are by the next chore.
const BATCH: u32 = 200;

/// What became of silent task instances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heartbeats {
    /// Those whose try has ended: its id, by which the executor knows it and is to be told, and what follows.
    pub ended: Vec<(Uuid, TaskInstanceKey, Outcome)>,
    /// Those that could not be dealt with, and why; they will be tried again.
    pub refused: Vec<(TaskInstanceKey, String)>,
}

impl Report for Heartbeats {
    fn instances_set_aside(&self) -> &[(TaskInstanceKey, String)] {
        &self.refused
    }

    fn follow_up(&self) -> FollowUp {
        let keys = || self.ended.iter().map(|(_, key, _)| key.clone());
        FollowUp {
            terminate: self.ended.iter().map(|(id, ..)| *id).collect(),
            failed: keys().map(|key| (key, NO_HEARTBEAT)).collect(),
            changed: keys().collect(),
            rescan: true,
            ..FollowUp::default()
        }
    }

    fn measure(&self, _told: &mut Told) {
        for (_, key, outcome) in &self.ended {
            let task = TaskTags { dag_id: &key.dag_id, task_id: &key.task_id };
            scheduling::without_heartbeat(task);
            failed(task, None, *outcome);
        }
    }
}

/// Ends the tries of this scheduler's task instances that were not heard of for longer than
/// `[scheduler] task_instance_heartbeat_timeout`.
///
/// One whose executor knows better lives: others have locked its row, or had until now, and it is told of as soon as they let
/// go of that. `watching_since` is when this scheduler began to look without a gap. For a while after that none is taken for
/// silent: it may have been the database, or this process, that was.
pub async fn heartbeats(
    cx: &Context,
    now: Timestamp,
    watching_since: Timestamp,
    executors: &ExecutorSet,
) -> Result<Heartbeats, Error> {
    let timeout = signed(cx.settings.scheduler.task_instance_heartbeat_timeout);
    let mut report = Heartbeats::default();
    if now.duration_since(watching_since) < grace(timeout) {
        return Ok(report);
    }
    let before = super::ago(now, cx.settings.scheduler.task_instance_heartbeat_timeout);
    let mut after = Uuid::nil();
    loop {
        let read = cx.db.read(|tx| {
            async move { overdue::without_heartbeat(tx, before, cx.job_id, after, BATCH).await }.scope_boxed()
        });
        let Page { found, next } = match read.await {
            Ok(page) => page,
            Err(error) => return so_far(report, error.into()),
        };
        let silent = found.into_iter().filter(|one| !executors.is_alive(one.id)).collect();
        end(cx, now, silent, &mut report).await;
        let Some(next) = next.filter(|_| report.ended.len() < BATCH as usize) else { return Ok(report) };
        after = next;
    }
}

/// Ends the tries of those that are silent.
async fn end(cx: &Context, now: Timestamp, found: Vec<WithoutHeartbeat>, report: &mut Heartbeats) {
    let timeout = signed(cx.settings.scheduler.task_instance_heartbeat_timeout);
    let before = super::ago(now, cx.settings.scheduler.task_instance_heartbeat_timeout);
    let service = super::in_haste(cx);
    for one in found {
        cx.progress.gets_on();
        let row = HeartbeatRow {
            state: Some(one.state),
            last_heartbeat_at: one.last_heartbeat_at,
            is_queued_by_me: true,
        };
        let HeartbeatStatus::Silent { since } = heartbeat_status(row, timeout, now) else {
            continue;
        };
        let message = message(&one, since, now);
        match service.gone_silent(one.id, one.try_number, before, &message, now).await {
            Ok(Some(outcome)) => report.ended.push((one.id, one.key, outcome)),
            Ok(None) => {}
            Err(refusal) => report.refused.push((one.key, refusal.to_string())),
        }
    }
}

/// Long enough for a task that lives to send several heartbeats.
fn grace(timeout: SignedDuration) -> SignedDuration {
    (timeout / 2).min(SignedDuration::from_mins(1))
}

fn message(one: &WithoutHeartbeat, since: Timestamp, now: Timestamp) -> String {
    let (key, seconds) = (&one.key, now.duration_since(since).as_secs());
    format!(
        "nothing was heard of {}.{} (run {}, map index {}) for {seconds} seconds, since {since}",
        key.dag_id, key.task_id, key.run_id, key.map_index
    )
}
