//! `dag_run`: what a scheduler asks about the runs that it owns, and about those that no scheduler owns.
//!
//! Which scheduler looks after a run is in `scheduled_by_job_id`, as Airflow writes it. It only keeps schedulers from
//! doing the same work: what they may write is decided by locks and by the states that each change names.

use ferroflow_model::state::RunState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::dag_run::ClaimedRun;
use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::scheduling::{InstanceRow, instance};
use crate::{Error, Page, Tx};

/// How many runs one statement asks about.
const BATCH: usize = 500;

/// A run whose row is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedRun {
    /// Its row.
    pub id: i64,
    /// When a scheduler last looked at it.
    pub last_scheduling_decision: Option<Timestamp>,
}

/// Whether a peer looks after its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeersAlive<'a> {
    /// What peers that look after their runs by themselves have as their `executor_class`.
    pub executor_class: &'a str,
    /// Peers without a heartbeat since then are gone.
    pub heartbeat_since: Timestamp,
    /// Runs that were not looked at since then are left behind, whichever scheduler had them.
    pub examined_since: Timestamp,
}

/// A run that is looked after, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedRun {
    /// Its row.
    pub id: i64,
    /// Where it stands.
    pub state: RunState,
    /// Whether nothing new of its DAG may begin.
    pub is_held: bool,
}

/// Locks a running run, unless another transaction has.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<LockedRun>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/lock_to_examine"), vec![[id].into_iter().collect()]).await?;
    row.as_ref().map(locked).transpose()
}

/// Locks those of these runs that are running and that no other transaction has locked.
pub async fn lock_many(tx: &mut Tx, ids: &[i64]) -> Result<Vec<LockedRun>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/lock_to_examine"), vec![ids.iter().copied().collect()]).await?;
    tx.readable(&rows, locked)
}

fn locked(row: &Row) -> Result<LockedRun, Error> {
    Ok(LockedRun { id: row.get("id")?, last_scheduling_decision: row.optional("last_scheduling_decision")? })
}

/// The jobs of a type that look after their runs by themselves, and live.
pub async fn living_peers(tx: &mut Tx, job_type: &str, peers: PeersAlive<'_>) -> Result<Vec<i64>, Error> {
    let binds = binds![job_type, peers.executor_class, peers.heartbeat_since];
    let rows = tx.fetch_all(sql!("job/living"), binds).await?;
    tx.readable(&rows, |row| row.get("id"))
}

/// Runs that may have no owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnownedRuns {
    /// Which.
    pub runs: Vec<ClaimedRun>,
    /// Whether there may be more of those that no living peer has.
    pub may_be_more: bool,
}

/// Running runs, of DAGs that are not paused, that no living peer looks after; those first that waited longest.
pub async fn unowned(
    tx: &mut Tx,
    peers: PeersAlive<'_>,
    now: Timestamp,
    limit: i64,
) -> Result<UnownedRuns, Error> {
    let PeersAlive { executor_class, heartbeat_since, examined_since } = peers;
    let binds = binds![
        executor_class,
        heartbeat_since,
        now,
        false,
        false,
        executor_class,
        heartbeat_since,
        examined_since,
        limit
    ];
    let rows = tx.fetch_all(sql!("dag_run/unowned"), binds).await?;
    let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= limit);
    let may_be_more =
        is_full && rows.last().is_some_and(|row| row.get::<i64>("lives").is_ok_and(|lives| lives == 0));
    Ok(UnownedRuns { runs: tx.readable(&rows, claimed)?, may_be_more })
}

/// The same without those of the living, by their rows: from the one after this on, and after the last from the first
/// on. However many there are that stay as they are, each has its turn.
pub async fn unowned_in_turn(
    tx: &mut Tx,
    peers: PeersAlive<'_>,
    now: Timestamp,
    after: i64,
    limit: i64,
) -> Result<Page<ClaimedRun, i64>, Error> {
    let PeersAlive { executor_class, heartbeat_since, .. } = peers;
    let binds = binds![now, false, false, executor_class, heartbeat_since, after, limit];
    let rows = tx.fetch_all(sql!("dag_run/unowned_in_turn"), binds).await?;
    tx.page(&rows, limit, claimed)
}

fn claimed(row: &Row) -> Result<ClaimedRun, Error> {
    Ok(ClaimedRun { id: row.get("id")?, dag_id: row.get("dag_id")?, run_id: row.get("run_id")? })
}

/// Releases all runs of a scheduler, for others to find.
pub async fn release(tx: &mut Tx, job_id: i64) -> Result<u64, Error> {
    tx.execute(sql!("dag_run/release"), binds![job_id]).await
}

/// How these runs stand.
pub async fn states(tx: &mut Tx, ids: &[i64]) -> Result<Vec<TrackedRun>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(BATCH) {
        let rows = tx.fetch_all(sql!("dag_run/tracked"), vec![ids.iter().copied().collect()]).await?;
        found.extend(tx.readable(&rows, |row| {
            let is_held = row.get("is_paused")? || row.get("is_stale")?;
            Ok(TrackedRun { id: row.get("id")?, state: row.get_parsed("state")?, is_held })
        })?);
    }
    Ok(found)
}

/// The instances of these runs that were written since then, each with the row of its run.
pub async fn changed(tx: &mut Tx, ids: &[i64], since: Timestamp) -> Result<Vec<(i64, InstanceRow)>, Error> {
    let mut found = Vec::new();
    for ids in ids.chunks(BATCH) {
        let ids: Bind = ids.iter().copied().collect();
        let rows = tx.fetch_all(sql!("task_instance/changed"), vec![ids, since.into()]).await?;
        found.extend(tx.readable(&rows, |row| Ok((row.get("dag_run_id")?, instance(row)?)))?);
    }
    Ok(found)
}

/// Those of some instances that were written since then, each with the row of its run.
pub async fn changed_some(
    tx: &mut Tx,
    ids: &[Uuid],
    since: Timestamp,
) -> Result<Vec<(i64, InstanceRow)>, Error> {
    let ids: Bind = ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("task_instance/changed_some"), vec![ids, since.into()]).await?;
    tx.readable(&rows, |row| Ok((row.get("dag_run_id")?, instance(row)?)))
}
