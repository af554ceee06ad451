//! `backfill` and `backfill_dag_run`: a backfill is made, and each of its dates is noted.

use std::collections::HashMap;

use ferroflow_model::backfill::{Reprocess, Skipped};
use ferroflow_model::state::RunState;
use jiff::Timestamp;

use crate::statement::{Bind, binds, sql};
use crate::{Error, Json, Tx};

/// A backfill to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBackfill {
    /// The DAG.
    pub dag_id: String,
    /// The first date.
    pub from: Timestamp,
    /// The last date.
    pub to: Timestamp,
    /// What its runs are given; JSON's null if nothing.
    pub conf: Json,
    /// Which runs that are there already are run again.
    pub reprocess: Reprocess,
    /// How many of its runs may run at once.
    pub max_active_runs: i32,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
    /// Whether its runs wait, because not all of them are made yet.
    pub is_paused: bool,
}

/// A date of a backfill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateOfBackfill {
    /// Its run,
    pub dag_run_id: Option<i64>,
    /// or why it has none.
    pub skipped: Option<Skipped>,
    /// The date,
    pub logical_date: Option<Timestamp>,
    /// or the partition.
    pub partition_key: Option<String>,
}

/// A run that stands for a date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingRun {
    /// Its row.
    pub id: i64,
    /// Its name.
    pub run_id: String,
    /// Where it stands.
    pub state: RunState,
}

/// A backfill of a DAG that is not over.
pub async fn open_of_dag(tx: &mut Tx, dag_id: &str) -> Result<Option<i64>, Error> {
    let row = tx.fetch_optional(sql!("backfill/open_of_dag"), binds![dag_id]).await?;
    row.map(|row| row.get("id")).transpose()
}

/// Adds a backfill, and returns the id of its row.
pub async fn insert(tx: &mut Tx, backfill: &NewBackfill, now: Timestamp) -> Result<i64, Error> {
    let binds = binds![
        backfill.dag_id.as_str(),
        backfill.from,
        backfill.to,
        backfill.conf.clone(),
        backfill.is_paused,
        backfill.reprocess.as_str(),
        backfill.max_active_runs,
        now,
        now,
        backfill.triggering_user_name.as_deref(),
    ];
    tx.insert(sql!("backfill/insert"), binds).await
}

/// Notes dates of a backfill, in the order in which they run, of which the first has this number.
pub async fn note_dates(tx: &mut Tx, id: i64, first: usize, dates: &[DateOfBackfill]) -> Result<(), Error> {
    /// A power of two, as are the sizes of what is left over: few different statements are prepared.
    const MAX_ROWS: usize = 128;
    let mut numbered = (first..).zip(dates).peekable();
    let mut left = dates.len();
    while left > 0 {
        let rows = if left >= MAX_ROWS { MAX_ROWS } else { 1 << left.ilog2() };
        let values: Vec<Bind> = numbered.by_ref().take(rows).flat_map(|date| values(id, date)).collect();
        tx.execute(sql!("backfill_dag_run/insert_many"), vec![Bind::Rows(values)]).await?;
        left -= rows;
    }
    Ok(())
}

fn values(id: i64, (number, date): (usize, &DateOfBackfill)) -> Vec<Bind> {
    binds![
        id,
        date.dag_run_id,
        date.skipped.map(Skipped::as_str),
        date.logical_date,
        date.partition_key.as_deref(),
        i64::try_from(number).unwrap_or(i64::MAX),
    ]
}

/// The runs of a DAG that stand for dates between two, both included: of each date the run that started last.
pub async fn runs_between(
    tx: &mut Tx,
    dag_id: &str,
    (first, last): (Timestamp, Timestamp),
    are_partitions: bool,
) -> Result<HashMap<Timestamp, ExistingRun>, Error> {
    let statement =
        if are_partitions { sql!("dag_run/between_partition_dates") } else { sql!("dag_run/between_dates") };
    let rows = tx.fetch_all(statement, binds![dag_id, first, last]).await?;
    let there = rows.iter().map(|row| {
        let run =
            ExistingRun { id: row.get("id")?, run_id: row.get("run_id")?, state: row.get_parsed("state")? };
        Ok((row.get("date")?, run))
    });
    there.collect()
}

/// Makes a run one of a backfill, and gives it what that gives to its runs, if anything.
pub async fn add_run(
    tx: &mut Tx,
    id: i64,
    run: i64,
    conf: Option<&Json>,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(sql!("dag_run/set_backfill"), binds![id, now, run]).await?;
    if let Some(conf) = conf {
        tx.execute(sql!("dag_run/set_conf"), binds![conf.clone(), now, run]).await?;
    }
    Ok(())
}
