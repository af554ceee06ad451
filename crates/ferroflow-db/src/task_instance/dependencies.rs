//! What the tasks of a run have left for a scheduler, in several tables: how long what they pushed is, what they
//! skip, when they want to be looked at again, and what became of them in the run before.

use std::collections::HashMap;

use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Json, Tx};

/// Which tasks of a run are asked about.
#[derive(Clone, Copy, Debug)]
pub enum Tasks<'a> {
    /// All of them.
    All,
    /// These.
    These(&'a [&'a str]),
}

/// What a task instance has decided about those downstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkipDecision {
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// What it pushed; SQL's NULL is JSON's `null`.
    pub value: Json,
}

/// A run before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierRun {
    /// Its row.
    pub id: i64,
    /// Its name.
    pub run_id: String,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
}

/// What became of a task in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastCounts {
    /// How many instances it has there.
    pub instances: i64,
    /// How many of these have neither succeeded nor been skipped.
    pub unsuccessful: i64,
}

/// How the tasks of a run stand, in figures of which one changes whenever a task does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// How many instances there are.
    pub instances: i64,
    /// How many of these have neither succeeded nor been skipped.
    pub unsuccessful: i64,
    /// When one of them was last written.
    pub updated_at: Option<Timestamp>,
}

/// The number of items that tasks have pushed to be mapped over.
pub async fn pushed_lengths(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    tasks: Tasks<'_>,
) -> Result<Vec<(String, i64)>, Error> {
    let (all, list) = tasks.binds();
    let rows =
        tx.fetch_all(sql!("task_map/lengths_of_run"), vec![dag_id.into(), run_id.into(), all, list]).await?;
    rows.iter().map(|row| Ok((row.get("task_id")?, length(row)?))).collect()
}

/// How many instances of mapped tasks have pushed a result.
pub async fn pushed_results(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    task_ids: &[&str],
) -> Result<Vec<(String, i64)>, Error> {
    let list: Bind = task_ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("xcom/results_of_run"), vec![dag_id.into(), run_id.into(), list]).await?;
    rows.iter().map(|row| Ok((row.get("task_id")?, row.get("results")?))).collect()
}

/// What tasks have decided about those downstream.
pub async fn skips(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    task_ids: &[&str],
) -> Result<Vec<SkipDecision>, Error> {
    let list: Bind = task_ids.iter().copied().collect();
    let rows = tx.fetch_all(sql!("xcom/skips_of_run"), vec![dag_id.into(), run_id.into(), list]).await?;
    let decision = |row: &crate::statement::Row| {
        Ok(SkipDecision {
            task_id: row.get("task_id")?,
            map_index: row.get("map_index")?,
            value: row.optional("value")?.unwrap_or_else(Json::null),
        })
    };
    rows.iter().map(decision).collect()
}

/// When instances that wait for it want to be looked at again.
pub async fn reschedules(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    tasks: Tasks<'_>,
) -> Result<HashMap<Uuid, Timestamp>, Error> {
    let (all, list) = tasks.binds();
    let binds = vec![dag_id.into(), run_id.into(), all, list];
    let rows = tx.fetch_all(sql!("task_reschedule/latest_of_run"), binds).await?;
    rows.iter().map(reschedule).collect()
}

/// The same in some runs.
pub async fn reschedules_of(tx: &mut Tx, dag_run_ids: &[i64]) -> Result<HashMap<Uuid, Timestamp>, Error> {
    let list = vec![dag_run_ids.iter().copied().collect()];
    tx.fetch_all(sql!("task_reschedule/latest_of_runs"), list).await?.iter().map(reschedule).collect()
}

fn reschedule(row: &Row) -> Result<(Uuid, Timestamp), Error> {
    Ok((row.get("ti_id")?, row.get("reschedule_date")?))
}

/// The latest run before a logical date; if so wished, without those that were triggered manually.
pub async fn earlier_run(
    tx: &mut Tx,
    dag_id: &str,
    before: Timestamp,
    is_manual_one_too: bool,
) -> Result<Option<EarlierRun>, Error> {
    let binds = binds![dag_id, before, is_manual_one_too];
    let row = tx.fetch_optional(sql!("dag_run/previous_scheduled"), binds).await?;
    let earlier = |row: Row| {
        Ok(EarlierRun {
            id: row.get("id")?,
            run_id: row.get("run_id")?,
            logical_date: row.optional("logical_date")?,
        })
    };
    row.map(earlier).transpose()
}

/// For each of some runs the row of the latest before its logical date; if so wished, without those that were triggered manually.
pub async fn earlier_of(
    tx: &mut Tx,
    ids: &[i64],
    is_manual_one_too: bool,
) -> Result<Vec<(i64, Option<i64>)>, Error> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let binds = vec![is_manual_one_too.into(), ids.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("dag_run/earlier_of"), binds).await?;
        found.extend(tx.readable(&rows, |row| Ok((row.get("id")?, row.optional("earlier_id")?)))?);
    }
    Ok(found)
}

/// How the tasks of some runs stand. A run without instances is not in the answer.
pub async fn progress(tx: &mut Tx, ids: &[i64]) -> Result<HashMap<i64, RunProgress>, Error> {
    let mut found = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let list: Bind = ids.iter().copied().collect();
        let rows = tx.fetch_all(sql!("task_instance/progress_of_runs"), vec![list]).await?;
        found.extend(tx.readable(&rows, |row| {
            let stand = RunProgress {
                instances: row.get("instances")?,
                unsuccessful: row.get("unsuccessful")?,
                updated_at: row.optional("updated_at")?,
            };
            Ok((row.get("dag_run_id")?, stand))
        })?);
    }
    Ok(found)
}

/// Whether a run is the first of its backfill.
pub async fn is_first_of_backfill(tx: &mut Tx, backfill_id: i64, dag_run_id: i64) -> Result<bool, Error> {
    let row = tx.fetch_optional(sql!("dag_run/first_of_backfill"), binds![backfill_id, dag_run_id]).await?;
    Ok(row.is_some())
}

/// What became of the tasks of a run.
pub async fn past(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<HashMap<String, PastCounts>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/past_of_run"), binds![dag_id, run_id]).await?;
    let counted = rows.iter().map(|row| {
        let counts = PastCounts { instances: row.get("instances")?, unsuccessful: row.get("unsuccessful")? };
        Ok((row.get("task_id")?, counts))
    });
    counted.collect()
}

/// Which of some tasks have an instance in a run before a logical date.
pub async fn were_there_before(
    tx: &mut Tx,
    dag_id: &str,
    before: Timestamp,
    task_ids: &[&str],
) -> Result<Vec<String>, Error> {
    let list: Bind = task_ids.iter().copied().collect();
    let rows =
        tx.fetch_all(sql!("task_instance/tasks_before"), vec![dag_id.into(), before.into(), list]).await?;
    rows.iter().map(|row| row.get("task_id")).collect()
}

/// How many items a task has pushed. An impossible length would be made into as many task instances.
fn length(row: &crate::statement::Row) -> Result<i64, Error> {
    const LONGEST: i64 = 1_000_000;
    let length = row.get("length")?;
    if (0..=LONGEST).contains(&length) {
        Ok(length)
    } else {
        Err(row.bad("length", "nobody can be mapped over so many"))
    }
}

impl Tasks<'_> {
    /// Whether all are meant, and else which.
    fn binds(self) -> (Bind, Bind) {
        match self {
            Self::All => (true.into(), std::iter::empty::<&str>().collect()),
            Self::These(tasks) => (false.into(), tasks.iter().copied().collect()),
        }
    }
}
