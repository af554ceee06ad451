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
use ferroflow_db::{Db, ScopedFutureExt as _, backfill};
use ferroflow_model::backfill::{Fate, NoBackfill, Stretch, check, fate};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::RunInfo;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::dag::{self, StoredDag};
use crate::dag_run::{RunMaking, check_params};
use crate::{AuditAction, OperationError, Operations};

use dates::Dates;
pub use go_on::{abandoned_before, finish};
pub use make::{MadeBackfill, create};

/// A backfill that somebody asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct BackfillRequest {
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
}

/// The runs that would be made or would begin anew, in the order in which they would run.
pub async fn preview(
    operations: &Operations,
    request: &BackfillRequest,
) -> Result<Vec<RunInfo>, OperationError> {
    operations.audit(&create_action(&request.dag_id)).await;
    let db = &operations.db;
    let stored = dag::find(db, &request.dag_id).await?;
    let (making, _) = operations.run_making(&stored.dag).await?;
    let now = clock::now();
    let dates = checked_dates(&making, &stored, request, now).await?;
    let there = dates.there(db, &request.dag_id, dates.bounds()).await?;
    let is_run = |run: &RunInfo| !matches!(dates.fate(&there, run, request), Fate::Skipped(_));
    Ok(dates.runs.iter().filter(|run| is_run(run)).cloned().collect())
}

/// What the audit log says of a backfill of a DAG that is made or previewed.
pub fn create_action(dag_id: &str) -> AuditAction<'_> {
    AuditAction { dag_id: Some(dag_id), ..AuditAction::named("create_backfill") }
}

/// Whether runs of the backfill that begin anew go on with the newest version of their DAG. What cannot be read of the DAG
/// says nothing about it.
pub async fn runs_on_latest_version(operations: &Operations, request: &BackfillRequest) -> bool {
    let by_configuration = operations.settings.core.rerun_with_latest_version;
    let found = match request.run_on_latest_version {
        Some(is_on_latest) => return is_on_latest,
        None => dag::find(&operations.db, &request.dag_id).await,
    };
    let stored = found.ok();
    usually_on_latest(stored.as_ref().map(|stored| &stored.dag), by_configuration)
}

fn usually_on_latest(dag: Option<&Dag>, by_configuration: Option<bool>) -> bool {
    dag.and_then(|dag| dag.rerun_with_latest_version).or(by_configuration).unwrap_or(true)
}

/// The dates of the stretch, if it may be run.
async fn checked_dates(
    making: &RunMaking,
    stored: &StoredDag,
    request: &BackfillRequest,
    now: Timestamp,
) -> Result<Dates, OperationError> {
    let dag_id = || request.dag_id.clone();
    let allowed = stored.dag.allowed_run_types.as_ref();
    if allowed.is_some_and(|types| !types.contains(&RunType::Backfill)) {
        return Err(refused(&NoBackfill::NotAllowed(dag_id())));
    }
    let kind = making.kind(stored).await?;
    if !kind.is_periodic {
        return Err(refused(&NoBackfill::NotPeriodic(dag_id())));
    }
    check(&stored.dag, &request.stretch, now).map_err(|reason| refused(&reason))?;
    let nothing = Map::new();
    check_params(&stored.dag.params, request.conf.as_ref().unwrap_or(&nothing))
        .map_err(|bad| OperationError::value_error(bad.to_string()))?;
    making.dates(stored, kind, &request.stretch, now).await
}

impl Dates {
    /// The runs that stand for dates between two, by date.
    async fn there(
        &self,
        db: &Db,
        dag_id: &str,
        bounds: Option<(Timestamp, Timestamp)>,
    ) -> Result<HashMap<Timestamp, ExistingRun>, OperationError> {
        let Some(bounds) = bounds else { return Ok(HashMap::new()) };
        let are_partitions = self.are_partitions;
        let read = db.read(|tx| {
            async move { backfill::create::runs_between(tx, dag_id, bounds, are_partitions).await }
                .scope_boxed()
        });
        Ok(read.await?)
    }

    /// What becomes of a date.
    fn fate(
        &self,
        there: &HashMap<Timestamp, ExistingRun>,
        run: &RunInfo,
        request: &BackfillRequest,
    ) -> Fate {
        let state = self.date(run).and_then(|date| there.get(&date)).map(|run| run.state);
        fate(state, request.stretch.reprocess, self.are_partitions)
    }
}

fn refused(reason: &NoBackfill) -> OperationError {
    let message = reason.to_string();
    match reason {
        NoBackfill::NotAllowed(_) => OperationError::invalid("no_backfill", message),
        _ => OperationError::refused("no_backfill", message),
    }
}
