//! Deferred task instances whose trigger has not fired in time.
//!
//! Locks: their rows in `task_instance`, without waiting for those that another transaction has.

use ferroflow_db::task_instance::execution::Continuation;
use ferroflow_db::task_instance::{TaskInstanceKey, overdue};
use ferroflow_db::{Error as DbError, Json, Page, ScopedFutureExt as _, Tx};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::report::{FollowUp, Report};
use super::{Chore, reported};
use crate::refused::{Done, SetAside, or_set_aside, so_far};
use crate::{Context, Error};

pub(crate) const CHORE: Chore = Chore {
    name: "deferred task instances that time out",
    every: |settings| Some(settings.scheduler.trigger_timeout_check_interval),
    run: |given| reported(deferred(given.cx, given.now)),
};

/// How many are dealt with in one transaction.
const BATCH: u32 = 500;

/// What a task goes on with that is to fail.
pub(super) const FAIL: &str = "__fail__";

/// Lets those go on, to fail, that waited for their trigger for too long. Returns which: they are scheduled now.
pub async fn deferred(cx: &Context, now: Timestamp) -> Result<Done<Vec<TaskInstanceKey>>, Error> {
    let mut report = Done::default();
    let mut after = Uuid::nil();
    loop {
        cx.progress.gets_on();
        let some = cx.db.transact_in_parts(|tx| time_out(tx, after, now).scope_boxed()).await;
        let (some, next) = match some {
            Ok(some) => some,
            Err(error) => return so_far(report, error.into()),
        };
        report.done.extend(some.done);
        report.set_aside.extend(some.set_aside);
        let Some(next) = next else { return Ok(report) };
        after = next;
    }
}

impl Report for Done<Vec<TaskInstanceKey>> {
    fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    fn follow_up(&self) -> FollowUp {
        FollowUp { changed: self.done.clone(), rescan: true, ..FollowUp::default() }
    }
}

type TimedOut = (Done<Vec<TaskInstanceKey>>, Option<Uuid>);

async fn time_out(tx: &mut Tx, after: Uuid, now: Timestamp) -> Result<TimedOut, DbError> {
    let mut report = Done::<Vec<TaskInstanceKey>>::default();
    let Page { found, next } = overdue::lock_waiting(tx, TaskState::Deferred, now, after, BATCH).await?;
    // Airflow's task runner looks for this word.
    let kwargs = Json::from(json!({"error": "Trigger timeout"}));
    for some in found.chunks(tx.rows_in_a_part(found.len())) {
        let ids: Vec<Uuid> = some.iter().map(|one| one.id).collect();
        let continuation = Continuation { method: FAIL, kwargs: &kwargs };
        tx.begin_part().await?;
        let gone_on = overdue::resume_timed_out(tx, &ids, TaskState::Deferred, continuation, now).await;
        let gone_on = tx.end_part(gone_on).await?;
        let row = |reason| SetAside::instance(&some[0].key, reason);
        if or_set_aside(gone_on, tx.unreadable(), row, &mut report.set_aside).is_some() {
            report.done.extend(some.iter().map(|one| one.key.clone()));
        }
    }
    Ok((report, next))
}
