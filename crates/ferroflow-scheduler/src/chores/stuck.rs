//! Task instances that were handed to an executor and do not start.
//!
//! Lock: each row in `task_instance`, for its transaction. The row is changed first and the executor told afterwards: a
//! task whose row is not queued any more does not start.

use std::time::Duration;

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::task_instance::{TaskInstanceKey, overdue};
use ferroflow_db::{Error as DbError, Page, ScopedFutureExt as _, Tx};
use ferroflow_execution::Service;
use ferroflow_execution::task_instance::FailedStuck;
use ferroflow_executor::{Executor, ExecutorSet};
use ferroflow_model::outcome::stuck::{Stuck, StuckRow, stuck};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::signed;
use jiff::Timestamp;
use uuid::Uuid;

use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::refused::so_far;
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "task instances stuck in queued",
    every: |settings| Some(settings.scheduler.task_queued_timeout_check_interval),
    run: |given| reported(stuck_tasks(given.cx, given.now, given.executors)),
};

/// How many are dealt with at a time; the others are by the next chore.
const BATCH: u32 = 200;

/// What stands in the audit log for each time that one was taken back: it is counted by schedulers, official ones too.
const TAKEN_BACK: &str = "stuck in queued reschedule";

/// What became of those that do not start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StuckTasks {
    /// Those that wait to be queued again. The executor is to be told to let go of them.
    pub taken_back: Vec<(Uuid, TaskInstanceKey)>,
    /// Those that have failed for good. The executor is to be told, too.
    pub failed: Vec<(Uuid, TaskInstanceKey)>,
    /// Those that stay queued, and why.
    pub refused: Vec<(TaskInstanceKey, String)>,
}

impl Report for StuckTasks {
    fn instances_set_aside(&self) -> &[(TaskInstanceKey, String)] {
        &self.refused
    }

    fn follow_up(&self) -> FollowUp {
        let tries = || self.taken_back.iter().chain(&self.failed);
        FollowUp {
            terminate: tries().map(|(id, _)| *id).collect(),
            changed: tries().map(|(_, key)| key.clone()).collect(),
            rescan: true,
            ..FollowUp::default()
        }
    }
}

/// Takes back what this scheduler queued longer than `[scheduler] task_queued_timeout` ago, and fails what was taken
/// back too often.
pub async fn stuck_tasks(cx: &Context, now: Timestamp, executors: &ExecutorSet) -> Result<StuckTasks, Error> {
    let before = super::ago(now, cx.settings.scheduler.task_queued_timeout);
    let mut report = StuckTasks::default();
    let mut after = Uuid::nil();
    loop {
        let read = cx.db.read(|tx| {
            async move { overdue::stuck(tx, before, cx.job_id, after, BATCH).await }.scope_boxed()
        });
        let Page { found, next } = match read.await {
            Ok(page) => page,
            Err(error) => return so_far(report, error.into()),
        };
        if let Err(error) = deal_with(cx, now, executors, found, &mut report).await {
            return so_far(report, error.into());
        }
        let is_enough = report.taken_back.len() + report.failed.len() >= BATCH as usize;
        let Some(next) = next.filter(|_| !is_enough) else { return Ok(report) };
        after = next;
    }
}

async fn deal_with(
    cx: &Context,
    now: Timestamp,
    executors: &ExecutorSet,
    found: Vec<overdue::Stuck>,
    report: &mut StuckTasks,
) -> Result<(), DbError> {
    let before = super::ago(now, cx.settings.scheduler.task_queued_timeout);
    let service = super::in_haste(cx);
    for one in found {
        cx.progress.gets_on();
        let executor = executors.find(one.executor.as_deref());
        let can_be_revoked = executor.is_some_and(Executor::can_revoke);
        let verdict = service
            .db
            .transact(|tx| take_back(tx, cx, &one, can_be_revoked, before, now).scope_boxed())
            .await;
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(error) if !error.is_about_rows() => return Err(error),
            Err(error) if error.is_busy() => continue,
            Err(DbError::Column(bad)) => {
                cx.db.unreadable().note(&bad);
                continue;
            }
            Err(error) => {
                report.refused.push((one.key, chain(&error)));
                continue;
            }
        };
        match verdict {
            Some(Stuck::TakeBack) => report.taken_back.push((one.id, one.key)),
            Some(Stuck::Fail) => fail(cx, &service, &one, before, report, now).await,
            Some(Stuck::CannotBeRevoked) => {
                let reason = "its executor cannot take it back, so a second one might start beside it";
                report.refused.push((one.key, reason.to_owned()));
            }
            Some(Stuck::NotQueued | Stuck::NotMine | Stuck::Waiting) | None => {}
        }
    }
    Ok(())
}

/// Looks at one again and takes it back if that is decided; `None` if it has moved on.
async fn take_back(
    tx: &mut Tx,
    cx: &Context,
    one: &overdue::Stuck,
    can_be_revoked: bool,
    before: Timestamp,
    now: Timestamp,
) -> Result<Option<Stuck>, DbError> {
    if !overdue::lock_stuck(tx, one.id, before, cx.job_id).await? {
        return Ok(None);
    }
    let times = overdue::count_events(tx, &one.key, one.try_number, TAKEN_BACK).await?;
    let row = StuckRow {
        state: Some(TaskState::Queued),
        queued_at: one.queued_dttm,
        is_queued_by_me: true,
        can_be_revoked,
        times_taken_back: u32::try_from(times).unwrap_or(u32::MAX),
    };
    let settings = &cx.settings.scheduler;
    let timeout = signed(settings.task_queued_timeout);
    let verdict = stuck(row, timeout, settings.num_stuck_in_queued_retries, now);
    if verdict == Stuck::TakeBack {
        if !overdue::requeue(tx, one.id, now).await? {
            return Ok(None);
        }
        audit_log::insert(tx, &entry(one, settings.task_queued_timeout, now)).await?;
    }
    Ok(Some(verdict))
}

async fn fail(
    cx: &Context,
    service: &Service,
    one: &overdue::Stuck,
    before: Timestamp,
    report: &mut StuckTasks,
    now: Timestamp,
) {
    let times = cx.settings.scheduler.num_stuck_in_queued_retries;
    let message = format!("it was queued again {times} times and did not start");
    let failed = FailedStuck { id: one.id, job_id: cx.job_id, before, message: &message };
    match service.fail_stuck(failed, now).await {
        Ok(true) => report.failed.push((one.id, one.key.clone())),
        Ok(false) => {}
        Err(refusal) => report.refused.push((one.key.clone(), refusal.to_string())),
    }
}

fn entry(one: &overdue::Stuck, timeout: Duration, now: Timestamp) -> AuditEntry {
    AuditEntry {
        dttm: Some(now),
        event: TAKEN_BACK.to_owned(),
        dag_id: Some(one.key.dag_id.clone()),
        run_id: Some(one.key.run_id.clone()),
        task_id: Some(one.key.task_id.clone()),
        map_index: Some(one.key.map_index),
        try_number: Some(one.try_number),
        logical_date: None,
        owner: None,
        owner_display_name: None,
        extra: Some(format!("queued for longer than {} seconds, and is queued again", timeout.as_secs_f64())),
    }
}
