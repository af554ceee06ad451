//! A backfill is made, with all of its runs.

use std::collections::{BTreeSet, HashMap, HashSet};

use ferroflow_db::backfill_creation::{self, DateOfBackfill, NewBackfill, RunThere};
use ferroflow_db::news::{self, News};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx, dag, dag_run_creation};
use ferroflow_model::backfill::{Fate, Skipped};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::RunInfo;
use ferroflow_telemetry::clock;
use ferroflow_telemetry::metrics::{RunTags, runs};
use jiff::Timestamp;
use serde_json::Value;

use super::{AskedBackfill, Dates, checked_dates, known, there};
use crate::clear::{self, Which};
use crate::create_run::{self, CreatedRun, DagVersionRef, NewRun, OfRun, PlannedDeadlines, PlannedRun};
use crate::trigger::{Known, value_error};
use crate::{Refusal, RunMaking, Service};

/// `max_active_runs` of a backfill of which nothing is said.
const USUAL_ACTIVE_RUNS: i32 = 10;

/// So many dates are written between two words on how far it is.
const STEP: usize = 64;

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

/// Makes a backfill; a scheduler starts its runs. Tells how many of how many dates are done. Nothing is made, and `None`
/// is returned, if the DAG has no run in the stretch.
pub async fn create(
    service: &Service,
    making: &RunMaking,
    asked: &AskedBackfill,
    tell: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<Option<MadeBackfill>, Refusal> {
    let db = &service.db;
    let known = known(db, &asked.dag_id).await?;
    let dag_id = asked.dag_id.as_str();
    let open =
        db.read(|tx| async move { backfill_creation::open_of_dag(tx, dag_id).await }.scope_boxed()).await?;
    if let Some(open) = open {
        return Err(another(dag_id, open));
    }
    let now = clock::now();
    let dates = checked_dates(making, &known, asked, now).await?;
    if dates.runs.is_empty() {
        return Ok(None);
    }
    let plan = Plan::of(service, making, &known, asked, &dates).await?;
    let made = db.transact(|tx| async { plan.carry_out(tx, now, tell).await }.scope_boxed());
    match made.await? {
        Ok((made, written)) => {
            written.tell(dag_id);
            Ok(Some(made))
        }
        Err(open) => Err(another(dag_id, open)),
    }
}

fn another(dag_id: &str, open: i64) -> Refusal {
    let message = format!(
        "backfill {open} of Dag {dag_id} is not over, and a Dag has one at a time: wait for the end of its runs"
    );
    Refusal::api(409, "already_running", message)
}

/// What was written of new runs.
#[derive(Default)]
struct Written {
    runs: Vec<CreatedRun>,
    deadlines: usize,
    /// Why there are not more of them; the same may be so of many runs.
    problems: BTreeSet<String>,
}

impl Written {
    fn tell(&self, dag_id: &str) {
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

/// A run to be made, with its deadlines.
struct ToMake {
    run: PlannedRun,
    deadlines: PlannedDeadlines,
    logical_date: Option<Timestamp>,
}

/// What is to be written, as far as it is known before the transaction begins.
struct Plan<'a> {
    asked: &'a AskedBackfill,
    dates: &'a Dates,
    /// The bundle of the DAG.
    bundle_name: &'a str,
    /// The runs to be made, by their place among the dates.
    new: HashMap<usize, ToMake>,
    /// Those that begin anew, by their rows.
    again: HashMap<i64, clear::Plan>,
}

impl<'a> Plan<'a> {
    async fn of(
        service: &Service,
        making: &RunMaking,
        known: &'a Known,
        asked: &'a AskedBackfill,
        dates: &'a Dates,
    ) -> Result<Self, Refusal> {
        let db = &service.db;
        let there = there(db, &asked.dag_id, dates).await?;
        let deadlines = known.deadlines(service).await?;
        let (mut new, mut again) = (HashMap::new(), Vec::new());
        for (place, run) in dates.runs.iter().enumerate() {
            match dates.fate(&there, run, asked) {
                Fate::Made => {
                    drop(new.insert(place, planned(making, known, asked, run, deadlines.clone()).await?));
                }
                Fate::Cleared => again.extend(dates.date(run).and_then(|date| there.get(&date))),
                Fate::Skipped(_) => {}
            }
        }
        let wants_newest = asked.run_on_latest_version.unwrap_or_else(|| making.runs_on_latest(&known.dag));
        let names: Vec<&str> = again.iter().map(|run| run.run_id.as_str()).collect();
        let plans = clear::plans(db, &making.unixname, &asked.dag_id, &names, wants_newest).await?;
        let again = plans.into_iter().map(|plan| (plan.run(), plan)).collect();
        Ok(Self { asked, dates, bundle_name: &known.row.bundle_name, new, again })
    }

    /// Writes everything, or the id of the backfill that another has made in the meantime.
    async fn carry_out(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        tell: &(dyn Fn(usize, usize) + Send + Sync),
    ) -> Result<Result<(MadeBackfill, Written), i64>, Error> {
        let dag_id = &self.asked.dag_id;
        // Schedulers that make runs of the DAG wait for this, and so do others who make backfills.
        dag::lock(tx, std::slice::from_ref(dag_id)).await?;
        if let Some(open) = backfill_creation::open_of_dag(tx, dag_id).await? {
            return Ok(Err(open));
        }
        let there = match self.dates.bounds() {
            Some(bounds) => {
                backfill_creation::runs_between(tx, dag_id, bounds, self.dates.are_partitions).await?
            }
            None => HashMap::new(),
        };
        let id = backfill_creation::insert(tx, &self.row(), now).await?;
        let (mut made, mut written) = (MadeBackfill { id, ..MadeBackfill::default() }, Written::default());
        let (steps, total) = (self.dates.runs.chunks(STEP).enumerate(), self.dates.runs.len());
        for (step, runs) in steps {
            let first = step * STEP;
            self.step(tx, (&mut made, &mut written), (first, runs), &there, now).await?;
            tell(first + runs.len(), total);
        }
        news::tell(tx, News::Queued).await?;
        Ok(Ok((made, written)))
    }

    fn row(&self) -> NewBackfill {
        let conf = self.asked.conf.clone().map_or(Value::Null, Value::Object);
        NewBackfill {
            dag_id: self.asked.dag_id.clone(),
            from: self.asked.stretch.from,
            to: self.asked.stretch.to,
            conf: Json::from(conf),
            reprocess: self.asked.stretch.reprocess,
            max_active_runs: self.asked.max_active_runs.unwrap_or(USUAL_ACTIVE_RUNS),
            triggering_user_name: self.asked.user.clone(),
        }
    }

    /// Makes and clears the runs of some dates, and notes what became of each.
    async fn step(
        &self,
        tx: &mut Tx,
        (made, written): (&mut MadeBackfill, &mut Written),
        (first, dates): (usize, &[RunInfo]),
        there: &HashMap<Timestamp, RunThere>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let taken = self.taken_names(tx, first, dates.len()).await?;
        let mut noted = Vec::with_capacity(dates.len());
        let (mut new, mut places) = (Vec::new(), Vec::new());
        for (place, run) in (first..).zip(dates) {
            let mut date = DateOfBackfill {
                dag_run_id: None,
                skipped: None,
                logical_date: run.logical_date(),
                partition_key: run.partition_key.clone(),
            };
            let run_there = self.dates.date(run).and_then(|date| there.get(&date));
            match (self.dates.fate(there, run, self.asked), self.new.get(&place)) {
                (Fate::Made, Some(planned)) if !taken.contains(planned.run.run_id()) => {
                    places.push((noted.len(), planned));
                    new.push(planned.run.clone().of_backfill(made.id));
                }
                (Fate::Cleared, _) if run_there.is_some_and(|run| self.again.contains_key(&run.id)) => {
                    date.dag_run_id = run_there.map(|run| run.id);
                    self.clear(tx, made.id, date.dag_run_id, now).await?;
                    made.cleared += 1;
                }
                (Fate::Skipped(reason), _) => date.skipped = Some(reason),
                // Somebody has changed it since it was looked at.
                _ => date.skipped = Some(Skipped::InFlight),
            }
            made.skipped += usize::from(date.skipped.is_some());
            noted.push(date);
        }
        let created = create_run::create_many(tx, new, now).await?;
        made.made += created.len();
        for ((place, planned), run) in places.into_iter().zip(&created) {
            noted[place].dag_run_id = Some(run.id);
            self.add_deadlines(tx, written, planned, run.id, now).await?;
        }
        written.runs.extend(created);
        backfill_creation::note_dates(tx, made.id, first + 1, &noted).await
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
            dag_id: &self.asked.dag_id,
            bundle_name: self.bundle_name,
            logical_date: planned.logical_date,
        };
        let (number, problems) = planned.deadlines.add(tx, &of_run, now).await?;
        written.deadlines += number;
        written.problems.extend(problems);
        Ok(())
    }

    /// Those names of runs to be made that others have.
    async fn taken_names(&self, tx: &mut Tx, first: usize, number: usize) -> Result<HashSet<String>, Error> {
        let planned = (first..first + number).filter_map(|place| self.new.get(&place));
        let keys: Vec<(&str, &str)> =
            planned.map(|new| (self.asked.dag_id.as_str(), new.run.run_id())).collect();
        if keys.is_empty() {
            return Ok(HashSet::new());
        }
        let found = dag_run_creation::find_ids(tx, &keys).await?;
        Ok(found.into_keys().map(|(_, run_id)| run_id).collect())
    }

    async fn clear(&self, tx: &mut Tx, backfill: i64, run: Option<i64>, now: Timestamp) -> Result<(), Error> {
        let Some((run, plan)) = run.and_then(|run| Some((run, self.again.get(&run)?))) else { return Ok(()) };
        plan.apply(tx, Which::All, now).await?;
        let conf = self.asked.conf.clone().map(|conf| Json::from(Value::Object(conf)));
        backfill_creation::take_in(tx, backfill, run, conf.as_ref(), now).await
    }
}

impl RunMaking {
    /// Whether a run of a backfill that begins anew goes on with the newest version of its DAG, if nobody says so.
    pub fn runs_on_latest(&self, dag: &Dag) -> bool {
        dag.rerun_with_latest_version.or(self.rerun_with_latest_version).unwrap_or(true)
    }
}

async fn planned(
    making: &RunMaking,
    known: &Known,
    asked: &AskedBackfill,
    run: &RunInfo,
    mut deadlines: PlannedDeadlines,
) -> Result<ToMake, Refusal> {
    let now = clock::now();
    let is_tied = !known.dag.disable_bundle_versioning;
    let new = NewRun {
        dag_id: asked.dag_id.clone(),
        run_id: making.backfill_run_id(known, run).await?,
        run_type: RunType::Backfill,
        logical_date: run.logical_date(),
        data_interval: run.data_interval,
        run_after: run.run_after,
        state: RunState::Queued,
        start_date: None,
        conf: asked.conf.clone(),
        triggered_by: TriggeredBy::Backfill,
        triggering_user_name: asked.user.clone(),
        note: None,
        partition_key: run.partition_key.clone(),
        partition_date: run.partition_date,
        backfill_id: None,
        creating_job_id: None,
        bundle_version: known.row.bundle_version.clone().filter(|_| is_tied),
        unixname: making.unixname.clone(),
    };
    let mut planned = PlannedRun::new(&known.dag, &DagVersionRef { id: known.version }, &new, now);
    let shaped = planned.shape(making.rules.as_deref(), &known.dag).await;
    shaped.map_err(|error| value_error(ferroflow_telemetry::chain(&error)))?;
    deadlines.ask(making.timetables.as_deref(), &planned).await;
    Ok(ToMake { run: planned, deadlines, logical_date: run.logical_date() })
}
