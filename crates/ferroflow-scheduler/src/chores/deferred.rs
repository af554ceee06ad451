//! Deferred task instances whose trigger has not fired in time.
//!
//! Locks: their rows in `task_instance`, without waiting for those that somebody else has.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_db::task_instance::life::Continuation;
use ferroflow_db::task_instance::overdue;
use ferroflow_db::{Error as DbError, Json, Page, ScopedFutureExt as _, Tx};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::{Context, Error};

/// How many are dealt with in one transaction.
const BATCH: u32 = 500;

/// What a task goes on with that is to fail.
pub(super) const FAIL: &str = "__fail__";

/// Lets those go on, to fail, that waited for their trigger for too long. Returns which: they are scheduled now.
pub async fn deferred(cx: &Context, now: Timestamp) -> Result<Vec<TaskInstanceKey>, Error> {
    let mut timed_out = Vec::new();
    let mut after = Uuid::nil();
    loop {
        let Page { found, next } = cx.db.transact(|tx| time_out(tx, after, now).scope_boxed()).await?;
        timed_out.extend(found);
        let Some(next) = next else { return Ok(timed_out) };
        after = next;
    }
}

async fn time_out(tx: &mut Tx, after: Uuid, now: Timestamp) -> Result<Page<TaskInstanceKey, Uuid>, DbError> {
    let Page { found, next } = overdue::lock_waiting(tx, TaskState::Deferred, now, after, BATCH).await?;
    if found.is_empty() {
        return Ok(Page { found: Vec::new(), next });
    }
    let ids: Vec<Uuid> = found.iter().map(|one| one.id).collect();
    // Airflow's task runner looks for this word.
    let kwargs = Json::from(json!({"error": "Trigger timeout"}));
    let continuation = Continuation { method: FAIL, kwargs: &kwargs };
    overdue::go_on(tx, &ids, TaskState::Deferred, continuation, now).await?;
    Ok(Page { found: found.into_iter().map(|one| one.key).collect(), next })
}
