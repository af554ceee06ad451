//! `deadline`: those that have passed, and what is told about the run that missed one.

use jiff::Timestamp;
use uuid::Uuid;

use crate::dag_run::{self, DagRun};
use crate::statement::{Row, binds, sql};
use crate::{Error, Page, Tx};

/// A deadline that has passed. It is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedDeadline {
    /// Its identity.
    pub id: Uuid,
    /// When it was.
    pub deadline_time: Timestamp,
    /// The run that has missed it.
    pub dag_run_id: Option<i64>,
    /// The callback.
    pub callback_id: Uuid,
}

/// A version of a DAG, as far as a callback is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedVersion {
    /// Its identity.
    pub id: Uuid,
    /// 1 for the first of its DAG.
    pub version_number: i32,
    /// The DAG.
    pub dag_id: String,
    /// The bundle its file is in.
    pub bundle_name: Option<String>,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Locks deadlines that passed before `now` and that were not dealt with yet, the oldest first. Those that cannot be read
/// stay where they are: the next part skips them.
pub async fn lock(
    tx: &mut Tx,
    now: Timestamp,
    skipped: i64,
    limit: u32,
) -> Result<Page<MissedDeadline, i64>, Error> {
    let binds = binds![false, now, i64::from(limit), skipped];
    let rows = tx.fetch_all(sql!("deadline/lock_missed"), binds).await?;
    let found = tx.readable(&rows, deadline)?;
    let left_out = i64::try_from(rows.len() - found.len()).unwrap_or(i64::MAX);
    let is_full = rows.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(Page { found, next: is_full.then(|| skipped.saturating_add(left_out)) })
}

/// Notes that a deadline was dealt with. False if it was already.
pub async fn set_missed(tx: &mut Tx, id: Uuid, now: Timestamp) -> Result<bool, Error> {
    Ok(tx.execute(sql!("deadline/set_missed"), binds![true, now, id, false]).await? == 1)
}

/// A run, by the id of its row.
pub async fn run(tx: &mut Tx, id: i64) -> Result<Option<DagRun>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/find_by_id"), binds![id]).await?;
    row.as_ref().map(dag_run::row::dag_run).transpose()
}

/// The versions of its DAG that a run has used, by id: the one that it is tied to, or those of its task instances and
/// their earlier tries.
pub async fn versions(tx: &mut Tx, run: &DagRun) -> Result<Vec<UsedVersion>, Error> {
    let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
    let rows = if is_tied {
        tx.fetch_all(sql!("dag_version/find"), binds![run.created_dag_version_id]).await?
    } else {
        let (dag_id, run_id) = (run.dag_id.as_str(), run.run_id.as_str());
        tx.fetch_all(sql!("dag_version/of_run"), binds![dag_id, run_id, dag_id, run_id]).await?
    };
    let mut versions: Vec<UsedVersion> = rows.iter().map(version).collect::<Result<_, _>>()?;
    versions.sort_by_key(|version| version.id);
    Ok(versions)
}

fn deadline(row: &Row) -> Result<MissedDeadline, Error> {
    Ok(MissedDeadline {
        id: row.get("id")?,
        deadline_time: row.get("deadline_time")?,
        dag_run_id: row.optional("dagrun_id")?,
        callback_id: row.get("callback_id")?,
    })
}

fn version(row: &Row) -> Result<UsedVersion, Error> {
    Ok(UsedVersion {
        id: row.get("id")?,
        version_number: row.get("version_number")?,
        dag_id: row.get("dag_id")?,
        bundle_name: row.optional("bundle_name")?,
        bundle_version: row.optional("bundle_version")?,
        created_at: row.get("created_at")?,
    })
}
