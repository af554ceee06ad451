//! Scheduled rows become queued: the one place where that is written, for the critical section, for a run in the
//! foreground and for a single task.
//!
//! Locks: the rows in `task_instance`. One that another transaction has locked is left out: another
//! scheduler queues it, or a user clears or marks it.

use std::collections::{HashMap, HashSet};

use ferroflow_db::task_instance::{self, TaskInstance, queueing, scheduling};
use ferroflow_db::{Error as DbError, Tx};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::chain;
use jiff::Timestamp;
use uuid::Uuid;

use super::report::WhyLeftOut;

/// Whether an executor calls task instances by names that are chosen when they are queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorNames {
    /// It does not, or chooses them itself.
    None,
    /// Each has a random UUID.
    Random,
}

/// Rows that were to be queued and are not.
#[derive(Default)]
pub(super) struct NotQueued {
    /// Those that the database refuses, and why.
    pub(super) refused: HashMap<Uuid, WhyLeftOut>,
    /// Those that another transaction was faster to change. It can only be where rows are not locked.
    pub(super) lost: HashSet<Uuid>,
}

/// Locks task instances, and queues those that are scheduled. Answers their rows, in the order of the ids.
pub(crate) async fn lock_and_queue(
    tx: &mut Tx,
    ids: &[Uuid],
    names: ExecutorNames,
    job_id: Option<i64>,
    now: Timestamp,
) -> Result<Vec<TaskInstance>, DbError> {
    let mut rows = queueing::lock(tx, ids).await?;
    rows.retain(|row| row.state == Some(TaskState::Scheduled));
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    let to_queue: Vec<_> = rows.iter_mut().map(|row| (row, names)).collect();
    let NotQueued { refused, lost } = queue_locked(tx, to_queue, job_id, now).await?;
    rows.retain(|row| !refused.contains_key(&row.id) && !lost.contains(&row.id));
    Ok(rows)
}

/// Queues rows that are scheduled, and locked as far as rows are. Each is then as it stands in the database.
pub(super) async fn queue_locked(
    tx: &mut Tx,
    mut rows: Vec<(&mut TaskInstance, ExecutorNames)>,
    job_id: Option<i64>,
    now: Timestamp,
) -> Result<NotQueued, DbError> {
    let mut unnamed = Vec::new();
    let mut refused: HashMap<Uuid, WhyLeftOut> = HashMap::new();
    let mut changed = 0;
    for (row, names) in &mut rows {
        match names {
            ExecutorNames::Random => {
                let name = uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string();
                tx.begin_part().await?;
                let queued = scheduling::queue_named(tx, row.id, job_id, &name, now).await;
                match tx.end_part(queued).await? {
                    Ok(number) => changed += number,
                    Err(error) => _ = refused.insert(row.id, why_refused(tx, &error)),
                }
                row.external_executor_id = Some(name);
            }
            ExecutorNames::None => unnamed.push(row.id),
        }
        row.state = Some(TaskState::Queued);
        (row.queued_dttm, row.queued_by_job_id, row.updated_at) = (Some(now), job_id, Some(now));
    }
    for ids in unnamed.chunks(tx.rows_in_a_part(unnamed.len())) {
        tx.begin_part().await?;
        let queued = scheduling::queue(tx, ids, job_id, now).await;
        match tx.end_part(queued).await? {
            Ok(number) => changed += number,
            Err(error) => refused.extend(ids.iter().map(|id| (*id, why_refused(tx, &error)))),
        }
    }
    let mut lost = HashSet::new();
    let wanted: Vec<Uuid> =
        rows.iter().map(|(row, _)| row.id).filter(|id| !refused.contains_key(id)).collect();
    if u64::try_from(wanted.len()) != Ok(changed) {
        let found = task_instance::find_all(tx, &wanted).await?;
        let queued: HashSet<Uuid> =
            found.into_iter().filter(|row| is_queued_by(row, job_id)).map(|row| row.id).collect();
        lost.extend(wanted.into_iter().filter(|id| !queued.contains(id)));
    }
    Ok(NotQueued { refused, lost })
}

pub(super) fn is_queued_by(row: &TaskInstance, job_id: Option<i64>) -> bool {
    row.state == Some(TaskState::Queued) && row.queued_by_job_id == job_id
}

fn why_refused(tx: &Tx, error: &DbError) -> WhyLeftOut {
    if let DbError::Column(bad) = error {
        tx.unreadable().note(bad);
    }
    if error.is_busy() { WhyLeftOut::Held } else { WhyLeftOut::Refused(chain(error)) }
}
