//! One pass through the critical section: a transaction that locks, counts, decides and writes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_db::dag_run::lookup::RunWithDag;
use ferroflow_db::task_instance::{TaskInstance, queueing};
use ferroflow_db::{Error as DbError, Tx, dag_run, pool};
use ferroflow_model::admission::{Admitted, DEFAULT_PATIENCE, Decision, InUse, Tick, admit};
use ferroflow_telemetry::clock::Stopwatch;
use jiff::Timestamp;
use uuid::Uuid;

use super::check::{Rows, check};
use super::memory::{Memory, WaitingRow};
use super::queue_rows::{ExecutorNames, NotQueued, is_queued_by, queue_locked};
use super::report::LeftOut;
use super::{ExecutorSlots, count, read};
use crate::Context;

/// What a pass is given.
pub(super) struct Asked<'a> {
    pub(super) cx: &'a Context,
    pub(super) memory: &'a Mutex<Memory>,
    /// What became ready and was not read yet.
    pub(super) new: &'a [Uuid],
    /// Those of an earlier pass that may have been queued.
    pub(super) uncertain: &'a [(Admitted, WaitingRow)],
    pub(super) executors: &'a [ExecutorSlots],
    pub(super) budget: usize,
    pub(super) now: Timestamp,
}

/// What a pass has decided and written.
pub(super) struct Pass {
    pub(super) decision: Decision,
    pub(super) in_use: InUse,
    pub(super) granted: Vec<Granted>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) set_aside: Vec<(String, String)>,
    /// How long it was read who waits and what is in use.
    pub(super) reading: Duration,
}

/// One that is queued.
pub(super) struct Granted {
    pub(super) admitted: Admitted,
    pub(super) row: TaskInstance,
    pub(super) run: Arc<RunWithDag>,
}

/// Goes through the section once; `None` if another scheduler is in it. What was read is remembered at once, since it is
/// true whatever becomes of the transaction; nothing else leaves it.
pub(super) async fn pass(
    tx: &mut Tx,
    asked: &Asked<'_>,
    attempted: &Mutex<Vec<(Admitted, WaitingRow)>>,
) -> Result<Option<Pass>, DbError> {
    let Some(pools) = pool::lock_all(tx).await? else { return Ok(None) };
    let watch = Stopwatch::start();
    let mut set_aside = Vec::new();
    if !asked.new.is_empty() {
        let found = read::by_id(tx, asked.cx, asked.new, asked.now).await?;
        locked(asked.memory).take_in(&found.candidates);
        set_aside = found.set_aside;
    }
    locked(asked.memory).set_pools(&pools, asked.cx.settings.core.multi_team);
    let in_use = count::in_use(tx, asked.memory).await?;
    let reading = watch.elapsed();
    let (decision, admitted) = decide(asked, &in_use);
    let (mut granted, mut left_out) = lock_and_check(tx, asked, &admitted).await?;
    *locked(attempted) = granted.iter().filter_map(|one| attempt(one, &admitted)).collect();
    // Before anything is written: those that are queued by then were so after all, and the others are granted anew.
    let recovered = recovered(tx, asked).await?;
    left_out.extend(write(tx, asked, &mut granted).await?);
    granted.extend(recovered);
    Ok(Some(Pass { decision, in_use, granted, left_out, set_aside, reading }))
}

fn decide(asked: &Asked<'_>, in_use: &InUse) -> (Decision, Vec<(Admitted, WaitingRow)>) {
    let memory = locked(asked.memory);
    let tick = Tick { now: asked.now, patience: DEFAULT_PATIENCE, budget: asked.budget };
    let decision = admit(&memory.waiting, &memory.limits, in_use, tick);
    let admitted = decision.admitted.iter();
    let admitted = admitted
        .filter_map(|one| memory.waiting_row(&one.key).map(|waiting_row| (one.clone(), waiting_row)))
        .collect();
    (decision, admitted)
}

async fn lock_and_check(
    tx: &mut Tx,
    asked: &Asked<'_>,
    admitted: &[(Admitted, WaitingRow)],
) -> Result<(Vec<Granted>, Vec<LeftOut>), DbError> {
    if admitted.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let rows = rows(tx, asked, admitted).await?;
    Ok(check(admitted, rows, &locked(asked.memory)))
}

/// Locks the rows of task instances, and reads them with their runs and DAGs.
async fn rows(tx: &mut Tx, asked: &Asked<'_>, admitted: &[(Admitted, WaitingRow)]) -> Result<Rows, DbError> {
    let ids: Vec<Uuid> = admitted.iter().map(|(_, waiting_row)| waiting_row.id).collect();
    let mut runs: Vec<i64> = admitted.iter().map(|(_, waiting_row)| waiting_row.dag_run_id).collect();
    runs.sort_unstable();
    runs.dedup();
    let instances = queueing::lock(tx, &ids).await?;
    let runs = dag_run::lookup::with_dag(tx, &runs).await?;
    Ok(Rows {
        instances: instances.into_iter().map(|row| (row.id, row)).collect(),
        runs: runs.into_iter().map(|run| (run.run.id, Arc::new(run))).collect(),
        multi_team: asked.cx.settings.core.multi_team,
    })
}

/// Queues those that are granted; answers those that the database refuses.
async fn write(tx: &mut Tx, asked: &Asked<'_>, granted: &mut Vec<Granted>) -> Result<Vec<LeftOut>, DbError> {
    let names = |one: &Granted| {
        let executor = asked.executors.get(one.admitted.executor);
        executor.map_or(ExecutorNames::None, |executor| executor.names)
    };
    let rows = granted.iter_mut().map(|one| {
        let names = names(one);
        (&mut one.row, names)
    });
    let rows = rows.collect();
    let NotQueued { refused, lost } = queue_locked(tx, rows, Some(asked.cx.job_id), asked.now).await?;
    let left_out = granted.extract_if(.., |one| refused.contains_key(&one.row.id)).filter_map(|one| {
        let why = refused.get(&one.row.id)?.clone();
        Some(LeftOut { key: one.admitted.key, id: one.row.id, why })
    });
    let left_out = left_out.collect();
    granted.retain(|one| !lost.contains(&one.row.id));
    Ok(left_out)
}

/// Those of an earlier pass, of which it was not known whether it was committed, that are queued after all.
async fn recovered(tx: &mut Tx, asked: &Asked<'_>) -> Result<Vec<Granted>, DbError> {
    if asked.uncertain.is_empty() {
        return Ok(Vec::new());
    }
    let Rows { mut instances, runs, .. } = rows(tx, asked, asked.uncertain).await?;
    let found = asked.uncertain.iter().filter_map(|(admitted, waiting_row)| {
        let row = instances.remove(&waiting_row.id).filter(|row| is_queued_by(row, Some(asked.cx.job_id)))?;
        let run = Arc::clone(runs.get(&waiting_row.dag_run_id)?);
        Some(Granted { admitted: admitted.clone(), row, run })
    });
    Ok(found.collect())
}

fn attempt(granted: &Granted, admitted: &[(Admitted, WaitingRow)]) -> Option<(Admitted, WaitingRow)> {
    admitted.iter().find(|(_, waiting_row)| waiting_row.id == granted.row.id).cloned()
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
