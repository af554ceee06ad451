//! One step of making a backfill: the runs of some dates, planned before its transaction begins and decided in it.

use std::collections::{HashMap, HashSet};

use ferroflow_db::backfill::create::ExistingRun;
use ferroflow_db::task_instance::dependencies;
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx, backfill, dag_run};
use ferroflow_model::backfill::{Fate, Skipped};
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::RunInfo;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::Value;

use super::make::{MadeBackfill, Written};
use super::{BackfillRequest, Dates};
use crate::OperationError;
use crate::dag::StoredDag;
use crate::dag_run::create::{self, DagVersionRef, NewRun, OfRun, PlannedDeadlines, PlannedRun};
use crate::dag_run::{ClearPlan, RunMaking, WhichInstances, deadlines, plans};
use crate::secrets::Secrets;

/// A step has no more dates than this.
pub(super) const MAX_DATES: usize = 64;

/// A step that has so many task instances takes no further date.
const ENOUGH_INSTANCES: usize = 5_000;

/// What making a backfill takes.
pub(super) struct Work<'a> {
    pub(super) secrets: &'a Secrets,
    pub(super) making: &'a RunMaking,
    pub(super) stored: &'a StoredDag,
    pub(super) request: &'a BackfillRequest,
    pub(super) dates: &'a Dates,
    /// Who asks for it.
    pub(super) user: Option<String>,
    /// What every run gets.
    deadlines: PlannedDeadlines,
}

/// Some dates, and what may be written for them.
pub(super) struct Step {
    /// Their places among all.
    pub(super) places: Vec<usize>,
    /// The runs to be made, by place.
    new: HashMap<usize, ToMake>,
    /// Those that begin anew, by their rows.
    again: HashMap<i64, ClearPlan>,
}

/// A run to be made, with its deadlines.
pub(super) struct ToMake {
    run: PlannedRun,
    deadlines: PlannedDeadlines,
    logical_date: Option<Timestamp>,
}

/// What becomes of a date.
pub(super) enum Decision<'a> {
    Make(&'a ToMake),
    Clear(&'a ClearPlan),
    Skip(Skipped),
}

/// What became of a date.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub(super) dag_run_id: Option<i64>,
    pub(super) skipped: Option<Skipped>,
}

impl<'a> Work<'a> {
    pub(super) async fn new(
        (secrets, making): (&'a Secrets, &'a RunMaking),
        stored: &'a StoredDag,
        (request, user): (&'a BackfillRequest, Option<String>),
        dates: &'a Dates,
    ) -> Result<Self, OperationError> {
        let deadlines = deadlines(secrets, stored).await?;
        Ok(Self { secrets, making, stored, request, dates, user, deadlines })
    }

    /// Plans runs for dates at these places, for as many of them as make a step: where runs are there, after these.
    pub(super) async fn plan(
        &self,
        places: &[usize],
        there: &HashMap<Timestamp, ExistingRun>,
    ) -> Result<Step, OperationError> {
        let sizes = self.sizes(places, there).await?;
        let (mut new, mut again, mut instances, mut taken) = (HashMap::new(), Vec::new(), 0, 0);
        for place in places {
            if instances >= ENOUGH_INSTANCES {
                break;
            }
            taken += 1;
            let run = &self.dates.runs[*place];
            match self.dates.fate(there, run, self.request) {
                Fate::Made => {
                    let planned = self.planned(run).await?;
                    instances += planned.run.instances();
                    new.insert(*place, planned);
                }
                Fate::Cleared => {
                    let run = self.dates.date(run).and_then(|date| there.get(&date));
                    // It may get more: the newest version of the DAG has tasks that it has not.
                    let size = run.and_then(|run| sizes.get(&run.id)).copied();
                    instances += size.unwrap_or_default().max(self.stored.dag.tasks().len());
                    again.extend(run);
                }
                Fate::Skipped(_) => {}
            }
        }
        let names: Vec<&str> = again.iter().map(|run| run.run_id.as_str()).collect();
        let wants_newest = self
            .request
            .run_on_latest_version
            .unwrap_or_else(|| self.making.runs_on_latest(&self.stored.dag));
        let (db, unixname) = (&self.secrets.db, &self.making.unixname);
        let plans = plans(db, unixname, &self.request.dag_id, &names, wants_newest).await?;
        let again = plans.into_iter().map(|plan| (plan.run(), plan)).collect();
        Ok(Step { places: places[..taken].to_vec(), new, again })
    }

    /// How many task instances the runs have that begin anew, by their rows.
    async fn sizes(
        &self,
        places: &[usize],
        there: &HashMap<Timestamp, ExistingRun>,
    ) -> Result<HashMap<i64, usize>, OperationError> {
        let cleared = places.iter().map(|place| &self.dates.runs[*place]).filter_map(|run| {
            let is_cleared = matches!(self.dates.fate(there, run, self.request), Fate::Cleared);
            self.dates.date(run).filter(|_| is_cleared).and_then(|date| there.get(&date))
        });
        let ids: &[i64] = &cleared.map(|run| run.id).collect::<Vec<_>>();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let read =
            self.secrets.db.read(|tx| async move { dependencies::progress(tx, ids).await }.scope_boxed());
        let sizes = read
            .await?
            .into_iter()
            .map(|(id, stand)| (id, usize::try_from(stand.instances).unwrap_or_default()));
        Ok(sizes.collect())
    }

    async fn planned(&self, run: &RunInfo) -> Result<ToMake, OperationError> {
        let Self { making, stored, request, .. } = self;
        let now = clock::now();
        let is_tied = !stored.dag.disable_bundle_versioning;
        let new = NewRun {
            dag_id: request.dag_id.clone(),
            run_id: making.backfill_run_id(stored, run).await?,
            run_type: RunType::Backfill,
            logical_date: run.logical_date(),
            data_interval: run.data_interval,
            run_after: run.run_after,
            state: RunState::Queued,
            start_date: None,
            conf: request.conf.clone(),
            triggered_by: TriggeredBy::Backfill,
            triggering_user_name: self.user.clone(),
            note: None,
            partition_key: run.partition_key.clone(),
            partition_date: run.partition_date,
            backfill_id: None,
            creating_job_id: None,
            bundle_version: stored.row.bundle_version.clone().filter(|_| is_tied),
            unixname: making.unixname.clone(),
        };
        let mut planned = PlannedRun::new(&stored.dag, &DagVersionRef { id: stored.version }, &new, now);
        let shaped = planned.apply_mutation_hook(making.rules.as_deref(), &stored.dag).await;
        shaped.map_err(|error| OperationError::value_error(ferroflow_telemetry::chain(&error)))?;
        let mut deadlines = self.deadlines.clone();
        deadlines.ask(making.timetables.as_deref(), &planned).await;
        Ok(ToMake { run: planned, deadlines, logical_date: run.logical_date() })
    }

    /// What becomes of the dates of a step, as runs are now.
    pub(super) async fn decide<'s>(
        &self,
        tx: &mut Tx,
        step: &'s Step,
    ) -> Result<Vec<(usize, Decision<'s>)>, Error> {
        let dag_id = &self.request.dag_id;
        let there = match self.dates.bounds_of(&step.places) {
            Some(bounds) => {
                backfill::create::runs_between(tx, dag_id, bounds, self.dates.are_partitions).await?
            }
            None => HashMap::new(),
        };
        let taken = self.taken_names(tx, step).await?;
        let decided = step.places.iter().map(|place| {
            let run = &self.dates.runs[*place];
            let run_there = self.dates.date(run).and_then(|date| there.get(&date));
            let again = run_there.and_then(|run| step.again.get(&run.id));
            let decision = match (self.dates.fate(&there, run, self.request), step.new.get(place), again) {
                (Fate::Made, Some(new), _) if !taken.contains(new.run.run_id()) => Decision::Make(new),
                (Fate::Cleared, _, Some(plan)) => Decision::Clear(plan),
                (Fate::Skipped(reason), ..) => Decision::Skip(reason),
                // Somebody has changed it since it was looked at.
                _ => Decision::Skip(Skipped::InFlight),
            };
            (*place, decision)
        });
        Ok(decided.collect())
    }

    /// Those names of runs to be made that others have.
    async fn taken_names(&self, tx: &mut Tx, step: &Step) -> Result<HashSet<String>, Error> {
        let dag_id = self.request.dag_id.as_str();
        let keys: Vec<(&str, &str)> = step.new.values().map(|new| (dag_id, new.run.run_id())).collect();
        if keys.is_empty() {
            return Ok(HashSet::new());
        }
        let found = dag_run::create::find_ids(tx, &keys).await?;
        Ok(found.into_keys().map(|(_, run_id)| run_id).collect())
    }

    /// Makes and clears runs, and says what became of each date.
    pub(super) async fn write(
        &self,
        tx: &mut Tx,
        decided: &[(usize, Decision<'_>)],
        (made, written): (&mut MadeBackfill, &mut Written),
        now: Timestamp,
    ) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = vec![Outcome::default(); decided.len()];
        let (mut new, mut of_new) = (Vec::new(), Vec::new());
        for ((_, decision), outcome) in decided.iter().zip(&mut outcomes) {
            match decision {
                Decision::Make(planned) => {
                    new.push(planned.run.clone().of_backfill(made.id));
                    of_new.push((*planned, outcome));
                }
                Decision::Clear(plan) => {
                    self.clear(tx, made.id, plan, now).await?;
                    outcome.dag_run_id = Some(plan.run());
                    made.cleared += 1;
                }
                Decision::Skip(reason) => {
                    outcome.skipped = Some(*reason);
                    made.skipped += 1;
                }
            }
        }
        let created = create::create_many(tx, new, now).await?;
        made.made += created.len();
        for ((planned, outcome), run) in of_new.into_iter().zip(&created) {
            outcome.dag_run_id = Some(run.id);
            self.add_deadlines(tx, written, planned, run.id, now).await?;
        }
        written.runs.extend(created);
        Ok(outcomes)
    }

    async fn clear(&self, tx: &mut Tx, backfill: i64, plan: &ClearPlan, now: Timestamp) -> Result<(), Error> {
        plan.apply(tx, WhichInstances::All, now).await?;
        let conf = self.request.conf.clone().map(|conf| Json::from(Value::Object(conf)));
        backfill::create::add_run(tx, backfill, plan.run(), conf.as_ref(), now).await
    }

    async fn add_deadlines(
        &self,
        tx: &mut Tx,
        written: &mut Written,
        planned: &ToMake,
        run: i64,
        now: Timestamp,
    ) -> Result<(), Error> {
        let of_run = OfRun {
            id: run,
            dag_id: &self.request.dag_id,
            bundle_name: &self.stored.row.bundle_name,
            logical_date: planned.logical_date,
        };
        let (number, problems) = planned.deadlines.add(tx, &of_run, now).await?;
        written.deadlines += number;
        written.problems.extend(problems);
        Ok(())
    }
}
