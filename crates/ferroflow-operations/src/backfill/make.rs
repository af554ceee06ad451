//! A backfill is made: its row, all of its dates and the first of its runs at once, the other runs step by step.

use std::collections::BTreeSet;

use ferroflow_db::backfill::create::{DateOfBackfill, NewBackfill};
use ferroflow_db::notifications::{self, Notification};
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, backfill, dag};
use ferroflow_model::backfill::{Fate, Skipped};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::RunType;
use ferroflow_telemetry::clock;
use ferroflow_telemetry::metrics::{RunTags, runs};
use jiff::Timestamp;
use serde_json::Value;

use super::go_on::{abandoned_before, finish, go_on};
use super::step::{Decision, MAX_DATES, Step, Work};
use super::{BackfillRequest, checked_dates, create_action, usually_on_latest};
use crate::dag_run::RunMaking;
use crate::dag_run::create::CreatedRun;
use crate::secrets::Secrets;
use crate::{OperationError, Operations};

/// `max_active_runs` of a backfill of which nothing is said.
const USUAL_ACTIVE_RUNS: i32 = 10;

/// A backfill that was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeBackfill {
    /// Its row.
    pub id: i64,
    /// How many runs were made for it,
    pub made: usize,
    /// how many begin anew,
    pub cleared: usize,
    /// and of how many dates the run that is there is left alone.
    pub skipped: usize,
}

/// Makes a backfill; a scheduler starts its runs. Tells after each step how many of how many dates are done. Nothing is
/// made, and `None` is returned, if the DAG has no run in the stretch.
///
/// It is paused until it is complete, and has a run that waits from the first step on: no scheduler can take it for
/// completed. Whoever is interrupted in between leaves the rest to a scheduler ([`finish`](super::finish)).
pub async fn create(
    operations: &Operations,
    request: &BackfillRequest,
    tell: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<Option<MadeBackfill>, OperationError> {
    operations.audit(&create_action(&request.dag_id)).await;
    let (db, dag_id) = (&operations.db, request.dag_id.as_str());
    let stored = crate::dag::find(db, dag_id).await?;
    let (making, secrets) = &operations.run_making(&stored.dag).await?;
    let open =
        db.read(|tx| async move { backfill::create::open_of_dag(tx, dag_id).await }.scope_boxed()).await?;
    if let Some(open) = open {
        return Err(another(secrets, making, dag_id, open).await?);
    }
    let dates = checked_dates(making, &stored, request, clock::now()).await?;
    if dates.runs.is_empty() {
        return Ok(None);
    }
    let work = Work::new((secrets, making), &stored, (request, Some(operations.caller.user.clone())), &dates)
        .await?;
    let (mut made, left) = match begin(db, &work).await? {
        Begun::There(open) => return Err(another(secrets, making, dag_id, open).await?),
        Begun::Made { made, left, written } => {
            written.tell(dag_id);
            (made, left)
        }
    };
    tell(dates.runs.len() - left, dates.runs.len());
    if left > 0 {
        go_on(&work, &mut made, tell).await?;
    }
    Ok(Some(made))
}

/// Why another one is not made. One whose maker is gone is completed first: no scheduler of ours may be there to do so.
async fn another(
    secrets: &Secrets,
    making: &RunMaking,
    dag_id: &str,
    open: i64,
) -> Result<OperationError, OperationError> {
    let now = clock::now();
    let taken_over = secrets.db.transact(|tx| {
        async move {
            let is_abandoned = backfill::create_runs::abandoned(tx, abandoned_before(now))
                .await?
                .iter()
                .any(|(id, _)| *id == open);
            Ok(is_abandoned && backfill::create_runs::take_over(tx, open, abandoned_before(now), now).await?)
        }
        .scope_boxed()
    });
    let what = if taken_over.await? {
        Box::pin(finish(secrets, making, open)).await?;
        "was made only in part before, and is complete now:"
    } else {
        "is not over, and a Dag has one at a time:"
    };
    let message = format!("backfill {open} of Dag {dag_id} {what} wait for the end of its runs");
    Ok(OperationError::conflict("already_running", message))
}

/// How making a backfill began.
enum Begun {
    /// Another one is not over.
    There(i64),
    /// It is there, and so many of its dates are undecided.
    Made { made: MadeBackfill, left: usize, written: Written },
}

/// What was written of new runs.
#[derive(Default)]
pub(super) struct Written {
    pub(super) runs: Vec<CreatedRun>,
    pub(super) deadlines: usize,
    /// Why there are not more of them; the same may be so of many runs.
    pub(super) problems: BTreeSet<String>,
}

impl Written {
    pub(super) fn tell(&self, dag_id: &str) {
        let tags = RunTags { dag_id, run_type: RunType::Backfill.as_str() };
        for run in &self.runs {
            runs::instances_created(tags, &run.operators);
        }
        if self.deadlines > 0 {
            runs::deadlines_created(dag_id, self.deadlines);
        }
        for problem in &self.problems {
            tracing::warn!(dag_id, problem, "runs of a backfill lack a deadline");
        }
    }
}

/// The first step: the row, its dates, and runs from the first date on that has one.
async fn begin(db: &Db, work: &Work<'_>) -> Result<Begun, OperationError> {
    // Dates of which nothing came although no run is there: another date's has the name, say. They are noted as in flight.
    let mut in_vain = BTreeSet::new();
    loop {
        let there = work.dates.there(db, &work.request.dag_id, work.dates.bounds()).await?;
        let fate = |place: usize| work.dates.fate(&there, &work.dates.runs[place], work.request);
        let has_run = |place: &usize| !in_vain.contains(place) && !matches!(fate(*place), Fate::Skipped(_));
        let first = (0..work.dates.runs.len()).find(has_run);
        let from = first.filter(|first| *first >= MAX_DATES || !in_vain.is_empty()).unwrap_or(0);
        let places: Vec<usize> = match first {
            Some(_) => (from..work.dates.runs.len()).take(MAX_DATES).collect(),
            // Rows without task instances: all of them are written at once.
            None => (0..work.dates.runs.len()).collect(),
        };
        let step = work.plan(&places, &there).await?;
        let (step, now) = (&step, clock::now());
        let begun = db.transact(|tx| {
            async move { write_first(tx, work, step, first.is_some(), now).await }.scope_boxed()
        });
        // Otherwise somebody has made all of these runs in the meantime, or has their names.
        if let Some(begun) = begun.await? {
            return Ok(begun);
        }
        in_vain.extend(step.places.iter().copied());
    }
}

async fn write_first(
    tx: &mut Tx,
    work: &Work<'_>,
    step: &Step,
    wants_run: bool,
    now: Timestamp,
) -> Result<Option<Begun>, Error> {
    let dag_id = &work.request.dag_id;
    // Schedulers that make runs of the DAG wait for this, and so do others who make backfills.
    dag::lock(tx, std::slice::from_ref(dag_id)).await?;
    if let Some(open) = backfill::create::open_of_dag(tx, dag_id).await? {
        return Ok(Some(Begun::There(open)));
    }
    let decided = work.decide(tx, step).await?;
    let is_run = |(_, decision): &(usize, Decision<'_>)| !matches!(decision, Decision::Skip(_));
    if wants_run && !decided.iter().any(is_run) {
        return Ok(None);
    }
    let left = work.dates.runs.len() - decided.len();
    let id = backfill::create::insert(tx, &row(work, left > 0), now).await?;
    let (mut made, mut written) = (MadeBackfill { id, ..MadeBackfill::default() }, Written::default());
    let outcomes = work.write(tx, &decided, (&mut made, &mut written), now).await?;
    let mut dates: Vec<DateOfBackfill> = work.dates.runs.iter().map(undecided).collect();
    for ((place, _), outcome) in decided.iter().zip(outcomes) {
        (dates[*place].dag_run_id, dates[*place].skipped) = (outcome.dag_run_id, outcome.skipped);
    }
    backfill::create::note_dates(tx, id, 1, &dates).await?;
    if left == 0 {
        notifications::notify(tx, Notification::QueuedOf { dag_id: dag_id.clone() }).await?;
    }
    Ok(Some(Begun::Made { made, left, written }))
}

fn undecided(run: &ferroflow_model::timetable::RunInfo) -> DateOfBackfill {
    DateOfBackfill {
        dag_run_id: None,
        skipped: Some(Skipped::Undecided),
        logical_date: run.logical_date(),
        partition_key: run.partition_key.clone(),
    }
}

fn row(work: &Work<'_>, is_paused: bool) -> NewBackfill {
    let request = work.request;
    let conf = request.conf.clone().map_or(Value::Null, Value::Object);
    NewBackfill {
        dag_id: request.dag_id.clone(),
        from: request.stretch.from,
        to: request.stretch.to,
        conf: Json::from(conf),
        reprocess: request.stretch.reprocess,
        max_active_runs: request.max_active_runs.unwrap_or(USUAL_ACTIVE_RUNS),
        triggering_user_name: work.user.clone(),
        is_paused,
    }
}

impl RunMaking {
    /// Whether a run of a backfill that begins anew goes on with the newest version of its DAG, if nobody says so.
    pub(super) fn runs_on_latest(&self, dag: &Dag) -> bool {
        usually_on_latest(Some(dag), self.rerun_with_latest_version)
    }
}
