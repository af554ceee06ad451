//! Runs for a stretch of the past.
//!
//! A backfill is made in steps of bounded size. The first has its row, all of its dates and some runs; the others decide
//! dates that are undecided until none is left (`ferroflow_db::backfill::create_runs`). One that is interrupted is completed by a
//! scheduler, or by whoever asks for another one.

mod dates;
mod go_on;
mod make;
mod step;

use std::collections::HashMap;

use ferroflow_db::backfill::create::ExistingRun;
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Db, ScopedFutureExt as _, backfill, dag};
use ferroflow_model::backfill::{Fate, NoBackfill, Stretch, check, fate};
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::RunInfo;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::trigger::{Known, value_error};
use crate::{Refusal, RunMaking, check_params};

use dates::Dates;
pub use go_on::{abandoned_before, finish};
pub use make::{MadeBackfill, create};

/// A backfill that somebody asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedBackfill {
    /// The DAG.
    pub dag_id: String,
    /// Which dates, and what becomes of runs that are there.
    pub stretch: Stretch,
    /// What its runs are given.
    pub conf: Option<Map<String, Value>>,
    /// How many of its runs may run at once; ten if not given.
    pub max_active_runs: Option<i32>,
    /// Whether runs that begin anew go on with the newest version of the DAG; the DAG and the configuration say so if not
    /// given.
    pub run_on_latest_version: Option<bool>,
    /// Who asks for it.
    pub user: Option<String>,
}

/// The runs that would be made or would begin anew, in the order in which they would run.
pub async fn preview(db: &Db, making: &RunMaking, asked: &AskedBackfill) -> Result<Vec<RunInfo>, Refusal> {
    let known = known(db, &asked.dag_id).await?;
    let now = clock::now();
    let dates = checked_dates(making, &known, asked, now).await?;
    let there = dates.there(db, &asked.dag_id, dates.bounds()).await?;
    let is_run = |run: &RunInfo| !matches!(dates.fate(&there, run, asked), Fate::Skipped(_));
    Ok(dates.runs.iter().filter(|run| is_run(run)).cloned().collect())
}

async fn known(db: &Db, dag_id: &str) -> Result<Known, Refusal> {
    let read = db.read(|tx| {
        async move { Ok((dag::find(tx, dag_id).await?, serialized_dag::latest(tx, dag_id).await?)) }
            .scope_boxed()
    });
    let (row, stored) = read.await?;
    let row = row.ok_or_else(|| Refusal::NotFound(format!("could not find Dag {dag_id}")))?;
    Known::of(row, stored, None)
}

/// The dates of the stretch, if it may be run.
async fn checked_dates(
    making: &RunMaking,
    known: &Known,
    asked: &AskedBackfill,
    now: Timestamp,
) -> Result<Dates, Refusal> {
    let dag_id = || asked.dag_id.clone();
    let allowed = known.dag.allowed_run_types.as_ref();
    if allowed.is_some_and(|types| !types.contains(&RunType::Backfill)) {
        return Err(refused(&NoBackfill::NotAllowed(dag_id())));
    }
    let kind = making.kind(known).await?;
    if !kind.is_periodic {
        return Err(refused(&NoBackfill::NotPeriodic(dag_id())));
    }
    check(&known.dag, &asked.stretch, now).map_err(|reason| refused(&reason))?;
    let nothing = Map::new();
    check_params(&known.dag.params, asked.conf.as_ref().unwrap_or(&nothing))
        .map_err(|bad| value_error(bad.to_string()))?;
    making.dates(known, kind, &asked.stretch, now).await
}

impl Dates {
    /// The runs that stand for dates between two, by date.
    async fn there(
        &self,
        db: &Db,
        dag_id: &str,
        bounds: Option<(Timestamp, Timestamp)>,
    ) -> Result<HashMap<Timestamp, ExistingRun>, Refusal> {
        let Some(bounds) = bounds else { return Ok(HashMap::new()) };
        let are_partitions = self.are_partitions;
        let read = db.read(|tx| {
            async move { backfill::create::runs_between(tx, dag_id, bounds, are_partitions).await }
                .scope_boxed()
        });
        Ok(read.await?)
    }

    /// What becomes of a date.
    fn fate(&self, there: &HashMap<Timestamp, ExistingRun>, run: &RunInfo, asked: &AskedBackfill) -> Fate {
        let state = self.date(run).and_then(|date| there.get(&date)).map(|run| run.state);
        fate(state, asked.stretch.reprocess, self.are_partitions)
    }
}

fn refused(reason: &NoBackfill) -> Refusal {
    let status = if matches!(reason, NoBackfill::NotAllowed(_)) { 400 } else { 422 };
    Refusal::api(status, "no_backfill", reason.to_string())
}
