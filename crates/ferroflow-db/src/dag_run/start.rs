//! Queued `dag_run`s that may start.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_model::state::{RunType, TriggeredBy};
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{BATCH, Bind, Row, binds, sql};
use crate::{Error, Tx};

/// A queued run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartableRun {
    /// Its row.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
    /// The backfill that it belongs to,
    pub backfill_id: Option<i32>,
    /// and its place there.
    pub sort_ordinal: Option<i32>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// Why it exists.
    pub run_type: RunType,
    /// Which door the request came through.
    pub triggered_by: Option<TriggeredBy>,
    /// How often it was cleared.
    pub clear_number: i32,
    /// The version of the bundle, if the run is tied to one.
    pub bundle_version: Option<String>,
    /// The version of the DAG when the run was made.
    pub created_dag_version_id: Option<Uuid>,
}

/// What runs of a DAG: for one of its backfills, or without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRuns {
    /// The DAG.
    pub dag_id: String,
    /// The backfill.
    pub backfill_id: Option<i32>,
    /// How many runs.
    pub count: u32,
    /// When the last of them started.
    pub last_started: Option<Timestamp>,
}

/// The DAGs that have queued runs.
pub async fn waiting_dags(tx: &mut Tx) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/waiting_dags"), Vec::new()).await?;
    tx.readable(&rows, |row| row.get("dag_id"))
}

/// What runs of some DAGs. Whatever stands in the other columns, they run, and take places: those of a backfill that
/// cannot be read among the runs without one.
pub async fn running(tx: &mut Tx, dag_ids: &[&str]) -> Result<Vec<RunningRuns>, Error> {
    let mut found: BTreeMap<(String, Option<i32>), RunningRuns> = BTreeMap::new();
    for ids in dag_ids.chunks(BATCH) {
        let list = ids.iter().copied().collect();
        for row in &tx.fetch_all(sql!("dag_run/running_by_queue"), vec![list]).await? {
            let Some(dag_id) = tx.or_note(row.get::<String>("dag_id"))? else { continue };
            let backfill_id = tx.or_note(row.optional("backfill_id"))?.flatten();
            let count = u32::try_from(row.get::<i64>("runs")?).unwrap_or(u32::MAX);
            let last_started = tx.or_note(row.optional("last_started"))?.flatten();
            let none = RunningRuns { dag_id, backfill_id, count: 0, last_started: None };
            let runs = found.entry((none.dag_id.clone(), backfill_id)).or_insert(none);
            runs.count = runs.count.saturating_add(count);
            runs.last_started = runs.last_started.max(last_started);
        }
    }
    Ok(found.into_values().collect())
}

/// The queued runs of some DAGs that are first in their queues: those of each backfill, and the others. Of a queue at
/// most `most`, and at most one more than may run at once. Those that cannot be read do not count, nor those that are put
/// off.
pub async fn startable(
    tx: &mut Tx,
    dag_ids: &[&str],
    put_off: &BTreeSet<i64>,
    now: Timestamp,
    most: i64,
) -> Result<Vec<StartableRun>, Error> {
    let mut found = Vec::new();
    for ids in dag_ids.chunks(BATCH) {
        let mut asked: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        // Those that do not count stay where they are. DAGs with more of them than were allowed for are asked for again.
        let mut passed_over = 0_i64;
        while !asked.is_empty() {
            let list: Bind = asked.iter().map(String::as_str).collect();
            let binds = vec![list, now.into(), passed_over.into(), most.saturating_add(passed_over).into()];
            let rows = tx.fetch_all(sql!("dag_run/startable"), binds).await?;
            let (runs, mut others) = apart(tx, &rows, put_off)?;
            others.retain(|_, count| *count > passed_over);
            found.extend(runs.into_iter().filter(|run| !others.contains_key(&run.dag_id)));
            passed_over = others.values().max().map_or(0, |most| most.saturating_mul(2));
            asked = others.into_keys().collect();
        }
    }
    Ok(found)
}

/// The runs that count, and how many of each DAG do not.
fn apart(
    tx: &Tx,
    rows: &[Row],
    put_off: &BTreeSet<i64>,
) -> Result<(Vec<StartableRun>, BTreeMap<String, i64>), Error> {
    let (mut runs, mut others) = (Vec::new(), BTreeMap::new());
    for row in rows {
        match tx.or_note(startable_run(row))? {
            Some(run) if !put_off.contains(&run.id) => runs.push(run),
            _ => *others.entry(row.get("dag_id")?).or_default() += 1,
        }
    }
    Ok((runs, others))
}

/// Locks those of some runs that are still queued and that no other transaction has locked, and tells which they are.
pub async fn lock_queued(tx: &mut Tx, ids: &[i64]) -> Result<Vec<i64>, Error> {
    let rows = tx.fetch_all(sql!("dag_run/lock_queued"), vec![ids.iter().copied().collect()]).await?;
    tx.readable(&rows, |row| row.get("id"))
}

/// Starts queued runs, and says how many. A start that they had before is forgotten.
pub async fn start(tx: &mut Tx, ids: &[i64], now: Timestamp) -> Result<u64, Error> {
    tx.execute(sql!("dag_run/start"), binds_with_list(now, ids)).await
}

fn binds_with_list(now: Timestamp, ids: &[i64]) -> Vec<Bind> {
    let mut binds = binds![now, now];
    binds.push(ids.iter().copied().collect());
    binds
}

fn startable_run(row: &Row) -> Result<StartableRun, Error> {
    Ok(StartableRun {
        id: row.get("id")?,
        dag_id: row.get("dag_id")?,
        run_id: row.get("run_id")?,
        backfill_id: row.optional("backfill_id")?,
        sort_ordinal: row.optional("sort_ordinal")?,
        run_after: row.get("run_after")?,
        run_type: row.get_parsed("run_type")?,
        triggered_by: row.parsed("triggered_by")?,
        clear_number: row.get("clear_number")?,
        bundle_version: row.optional("bundle_version")?,
        created_dag_version_id: row.optional("created_dag_version_id")?,
    })
}
