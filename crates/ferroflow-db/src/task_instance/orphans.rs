//! Task instances that were handed out by a scheduler that is gone.

use ferroflow_model::outcome::orphan::{OrphanRow, QueuedBy};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::{self, TaskInstance, TaskInstanceKey};
use crate::{Error, Page, Tx};

/// A task instance, and who handed it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedOut {
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// Where it stands.
    pub state: TaskState,
    /// Which try it is.
    pub try_number: i32,
    /// The host it runs on.
    pub hostname: Option<String>,
    /// Its process.
    pub pid: Option<i32>,
    /// When that was last known to be its process.
    pub last_seen: Option<Timestamp>,
    /// The executor that its task asks for,
    pub executor: Option<String>,
    /// and what that calls it.
    pub external_executor_id: Option<String>,
    /// The scheduler that queued it.
    pub queued_by_job_id: Option<i64>,
    /// What tells whether it is an orphan.
    pub row: OrphanRow,
}

/// Task instances whose scheduler does not run, by id and after one, as many as asked for.
pub async fn find(tx: &mut Tx, after: Uuid, limit: u32) -> Result<Page<HandedOut, Uuid>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/orphaned"), binds![after, i64::from(limit)]).await?;
    tx.page(&rows, limit.into(), handed_out)
}

/// Locks those of these that are still handed out and that no other transaction has locked, and reads them again.
pub async fn lock(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<HandedOut>, Error> {
    let list: Bind = ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("task_instance/lock_handed_out"), vec![list]).await?;
    let locked: Vec<Uuid> = rows.iter().map(|row| row.get("id")).collect::<Result<_, _>>()?;
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.fetch_all(sql!("task_instance/orphaned_some"), vec![locked.into_iter().collect()]).await?;
    let mut found = tx.readable(&rows, handed_out)?;
    found.sort_unstable_by_key(|one| one.id);
    Ok(found)
}

/// Puts one under the care of another scheduler. False if it has left its state, or has another scheduler already.
pub async fn adopt(tx: &mut Tx, orphan: &HandedOut, job_id: i64, now: Timestamp) -> Result<bool, Error> {
    let binds = binds![job_id, now, now, orphan.id, orphan.state.as_str(), orphan.queued_by_job_id];
    Ok(tx.execute(sql!("task_instance/adopt"), binds).await? == 1)
}

/// Lets one begin anew: its try goes into the history, as that of the scheduler that queued it, and it has a new id and
/// no state. False if it has left its state, or has another scheduler than the row that is given.
pub async fn reset(
    tx: &mut Tx,
    instance: &TaskInstance,
    queued_by: Option<i64>,
    new_id: Uuid,
    now: Timestamp,
) -> Result<bool, Error> {
    let state = instance.state.map(TaskState::as_str);
    let unchanged = binds![queued_by, now, instance.id, state, instance.queued_by_job_id];
    if tx.execute(sql!("task_instance/set_queued_by"), unchanged).await? == 0 {
        return Ok(false);
    }
    task_instance::clear::archive(tx, instance, now).await?;
    let binds = binds![new_id, now, instance.id, state, queued_by];
    Ok(tx.execute(sql!("task_instance/reset"), binds).await? == 1)
}

fn handed_out(row: &Row) -> Result<HandedOut, Error> {
    let queued_by_job_id: Option<i64> = row.optional("queued_by_job_id")?;
    let job_id: Option<i64> = row.optional("job_id")?;
    let queued_by = match (queued_by_job_id, job_id) {
        (None, _) => QueuedBy::Nobody,
        (Some(_), None) => QueuedBy::Deleted,
        // An unknown state is not that of a job that runs.
        (Some(_), Some(_)) => QueuedBy::Job(row.parsed("job_state").unwrap_or_default()),
    };
    let state: TaskState = row.get_parsed("state")?;
    Ok(HandedOut {
        id: row.get("id")?,
        key: key(row)?,
        state,
        try_number: row.get("try_number")?,
        hostname: row.optional("hostname")?,
        pid: row.optional("pid")?,
        last_seen: row.optional("start_date")?.max(row.optional("last_heartbeat_at")?),
        executor: row.optional("executor")?,
        external_executor_id: row.optional("external_executor_id")?,
        queued_by_job_id,
        row: OrphanRow { state: Some(state), run_state: row.get_parsed("run_state")?, queued_by },
    })
}

/// What a row with the columns of its key is of.
pub(crate) fn key(row: &Row) -> Result<TaskInstanceKey, Error> {
    Ok(TaskInstanceKey {
        dag_id: row.get("dag_id")?,
        run_id: row.get("run_id")?,
        task_id: row.get("task_id")?,
        map_index: row.get("map_index")?,
    })
}
