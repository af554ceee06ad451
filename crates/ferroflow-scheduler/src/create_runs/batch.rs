//! The runs of many DAGs are made, in one transaction.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ferroflow_db::asset::triggered_runs::{self, QueuedAsset};
use ferroflow_db::dag::scheduling::DagFacts as DagRow;
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, dag, dag_run};
use ferroflow_model::runs::assets::QueueVerdict;
use ferroflow_model::runs::create::{self, Verdict};
use ferroflow_model::runs::events::{EventBounds, event_window};
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::RunInfo;
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_operations::dag_run::create::{OfRun, create_many};
use jiff::Timestamp;

use super::assets::{self, Assets};
use super::candidates::{Candidate, Gathered, condition_of};
use super::facts::{Seen, Surroundings};
use super::plan::{Owner, Plan, info, next_after, plan};
use super::report::{CreatedRuns, NotCreated};
use super::shaping::{Shaping, Unasked};
use super::{INSTANCES_PER_TRANSACTION, making, runs_per_transaction};
use crate::refused::Batches;
use crate::refused::RetryLater;
use crate::{Context, Error};

/// Makes the runs of all candidates. A batch that the database refuses is made in halves, down to the run that it does
/// not take: no other is lost for it, and it is put off. Answers whether some are left for another time.
pub(super) async fn create(
    cx: &Context,
    gathered: &Gathered,
    put_off: &mut RetryLater<String>,
    now: Timestamp,
    report: &mut CreatedRuns,
) -> Result<bool, Error> {
    if gathered.candidates.is_empty() {
        return Ok(false);
    }
    let making = &making(cx)?;
    let mut shaping = match Shaping::new(cx).await {
        Ok(shaping) => shaping,
        Err(no_answer) => {
            for candidate in &gathered.candidates {
                let reason = NotCreated::unanswered(no_answer.clone(), NotCreated::InstanceRules);
                report.refuse(&candidate.dag_id, reason);
            }
            return Ok(false);
        }
    };
    let mut batches = Batches::new(&cx.db, batches(&gathered.candidates, runs_per_transaction(cx)));
    while let Some(batch) = batches.next() {
        cx.progress.gets_on();
        let task = &Task { cx, making, batch: &batch, assets: &gathered.assets, shaping: &shaping, now };
        let done = batches.db().transact(|tx| async move { task.run(tx).await }.scope_boxed()).await;
        match done {
            Ok((part, unasked)) => {
                report.add(part);
                let ready = shaping.ask(unasked, report).await;
                batches.again(batch.into_iter().filter(|of| ready.contains(&of.dag_id)).collect());
            }
            Err(error) => {
                if let Some((candidate, error)) = batches.refused(&batch, error)? {
                    put_off.refused(candidate.dag_id.clone(), batches.later(now));
                    report.refuse(&candidate.dag_id, NotCreated::not_taken(&error));
                }
            }
        }
    }
    Ok(batches.left().next().is_some())
}

fn batches(candidates: &[Candidate], most: usize) -> Vec<Vec<&Candidate>> {
    let mut batches = Vec::new();
    let mut left = candidates;
    while !left.is_empty() {
        let mut instances = 0;
        let fitting = left.iter().take(most).take_while(|candidate| {
            let fits = instances < INSTANCES_PER_TRANSACTION;
            instances += candidate.definition.dag().tasks().len();
            fits
        });
        let (batch, later) = left.split_at(fitting.count());
        batches.push(batch.iter().collect());
        left = later;
    }
    batches
}

/// One transaction.
struct Task<'a> {
    cx: &'a Context,
    making: &'a RunMaking,
    batch: &'a [&'a Candidate],
    assets: &'a Assets,
    shaping: &'a Shaping<'a>,
    now: Timestamp,
}

/// The rows of one transaction.
#[derive(Default)]
struct Writes {
    runs: Vec<Plan>,
    /// Runs that Python is to be asked about first.
    unasked: Vec<Unasked>,
    /// The next runs of DAGs.
    next: HashMap<String, Option<RunInfo>>,
    /// The flags of DAGs that are not as they should be.
    flags: [Vec<String>; 2],
}

impl<'a> Task<'a> {
    async fn run(&self, tx: &mut Tx) -> Result<(CreatedRuns, Vec<Unasked>), DbError> {
        let mut report = CreatedRuns::default();
        let (mut dags, queued) = self.lock(tx, &mut report).await?;
        self.judge_queues(&mut dags, &queued);
        let around = Surroundings::load(tx, &dags).await?;
        let mut writes = self.decide(&dags, &around, &mut report);
        self.drop_taken(tx, &mut writes, &mut report).await?;
        let unasked = std::mem::take(&mut writes.unasked);
        self.write(tx, writes, &dags, &queued, &mut report).await?;
        Ok((report, unasked))
    }

    /// Locks the DAGs, and what waits for those that assets ask a run for. A DAG that has changed is left out.
    async fn lock(
        &self,
        tx: &mut Tx,
        report: &mut CreatedRuns,
    ) -> Result<(Vec<Seen>, Vec<QueuedAsset>), DbError> {
        let ids: Vec<&str> = self.batch.iter().map(|candidate| candidate.dag_id.as_str()).collect();
        let locked = dag::scheduling::lock_free(tx, &ids).await?;
        let mut rows: HashMap<String, DagRow> =
            locked.dags.into_iter().map(|row| (row.dag_id.clone(), row)).collect();
        let versions = serialized_dag::latest_hashes(tx, &ids).await?;
        let mut dags = Vec::with_capacity(rows.len());
        for candidate in self.batch {
            let (dag_id, definition) = (&candidate.dag_id, &candidate.definition);
            let is_newest = versions
                .get(dag_id)
                .is_some_and(|(version, hash)| *version == definition.version.id && *hash == definition.hash);
            match rows.remove(dag_id) {
                None => report.refuse(dag_id, NotCreated::Held),
                Some(_) if !is_newest => {
                    self.cx.definitions.has_changed(dag_id);
                    report.refuse(dag_id, NotCreated::Changed);
                    report.is_more_due = true;
                }
                Some(row) => dags.push(Seen::new(row, definition, self.now)),
            }
        }
        let triggered: HashSet<&str> = self
            .batch
            .iter()
            .filter(|candidate| candidate.is_triggered)
            .map(|candidate| candidate.dag_id.as_str())
            .collect();
        let triggered: Vec<&str> =
            dags.iter().map(Seen::dag_id).filter(|dag_id| triggered.contains(dag_id)).collect();
        let queued = if triggered.is_empty() {
            Vec::new()
        } else {
            triggered_runs::lock_queued(tx, &triggered).await?
        };
        Ok((dags, queued))
    }

    /// Whether the conditions on assets are still met by what could be locked.
    fn judge_queues(&self, dags: &mut [Seen], queued: &[QueuedAsset]) {
        let by_id: HashMap<&str, &Candidate> =
            self.batch.iter().map(|candidate| (candidate.dag_id.as_str(), *candidate)).collect();
        let condition = |id: &str| condition_of(&by_id.get(id)?.definition);
        let verdicts = assets::judge(queued, condition, self.assets);
        for dag in dags {
            if let Some(QueueVerdict::Ready(at)) = verdicts.get(dag.dag_id()) {
                dag.triggered_at = Some(*at);
            }
        }
    }

    fn decide(&self, dags: &[Seen], around: &Surroundings, report: &mut CreatedRuns) -> Writes {
        let facts: Vec<_> = dags.iter().map(|dag| dag.facts(around)).collect();
        let by_id: HashMap<&str, (&Seen, &'a Candidate)> = dags
            .iter()
            .filter_map(|dag| {
                let candidate = *self.batch.iter().find(|candidate| candidate.dag_id == dag.dag_id())?;
                Some((dag.dag_id(), (dag, candidate)))
            })
            .collect();
        let mut writes = Writes::default();
        for decision in create::decide(&facts, self.now, usize::MAX) {
            let Some((dag, candidate)) = by_id.get(decision.dag_id) else { continue };
            let done = match &decision.verdict {
                Verdict::Create(run) => {
                    // Of schedule and assets the other one may ask for a run, too.
                    let is_due = dag.next.create_after.is_some_and(|at| at <= self.now);
                    report.is_more_due |= is_due && dag.triggered_at.is_some();
                    self.plan(dag, candidate, run, &mut writes)
                }
                Verdict::AdvanceOnly => self.advance(dag, candidate, around, &mut writes),
                Verdict::Refused(reason) => {
                    report.refuse(decision.dag_id, *reason);
                    Ok(true)
                }
                Verdict::Postponed => Ok(true),
            };
            if done.is_ok() && decision.verdict == Verdict::AdvanceOnly {
                report.advanced.push(decision.dag_id.to_owned());
                report.is_more_due = true;
            }
            match done {
                Err(reason) => report.refuse(decision.dag_id, reason),
                Ok(true) if decision.exceeds_max_non_backfill != dag.row.exceeds_max_non_backfill => {
                    let flags = &mut writes.flags[usize::from(decision.exceeds_max_non_backfill)];
                    flags.push(decision.dag_id.to_owned());
                }
                Ok(_) => {}
            }
        }
        writes
    }

    /// Plans a run. False if Python is to be asked about it first.
    fn plan(
        &self,
        dag: &Seen,
        candidate: &'a Candidate,
        run: &create::NewRun<'_>,
        writes: &mut Writes,
    ) -> Result<bool, NotCreated> {
        let asked = candidate.asked.as_ref();
        let deadlines = &candidate.deadlines;
        let owner = Owner { row: &dag.row, definition: &dag.definition, asked, deadlines };
        let planned = plan(&self.cx.run_settings, self.making, &owner, run, self.now)?;
        let planned = match self.shaping.shaped(planned, dag.definition.dag()) {
            Ok(planned) => planned,
            Err(plan) => {
                writes.unasked.push(Unasked { definition: Arc::clone(&dag.definition), plan: *plan });
                return Ok(false);
            }
        };
        if run.run_type == RunType::Scheduled {
            let next = next_after(dag.definition.dag(), asked, &info(run), self.now)?;
            writes.next.insert(dag.dag_id().to_owned(), next);
        }
        writes.runs.push(planned);
        Ok(true)
    }

    fn advance(
        &self,
        dag: &Seen,
        candidate: &Candidate,
        around: &Surroundings,
        writes: &mut Writes,
    ) -> Result<bool, NotCreated> {
        let there = dag.existing(around).ok_or(NotCreated::Changed)?;
        let next = next_after(dag.definition.dag(), candidate.asked.as_ref(), &there, self.now)?;
        writes.next.insert(dag.dag_id().to_owned(), next);
        Ok(true)
    }

    /// A run of the same name, for another date, would fail all of them.
    async fn drop_taken(
        &self,
        tx: &mut Tx,
        writes: &mut Writes,
        report: &mut CreatedRuns,
    ) -> Result<(), DbError> {
        let keys: Vec<(&str, &str)> = writes
            .runs
            .iter()
            .map(|plan| (plan.outline.dag_id.as_str(), plan.outline.run_id.as_str()))
            .collect();
        let taken = dag_run::create::find_ids(tx, &keys).await?;
        for (dag_id, run_id) in taken.into_keys() {
            writes.runs.retain(|plan| plan.outline.dag_id != dag_id);
            writes.next.remove(&dag_id);
            writes.flags.iter_mut().for_each(|flags| flags.retain(|flagged| *flagged != dag_id));
            report.refuse(&dag_id, NotCreated::RunIdTaken(run_id));
        }
        Ok(())
    }

    async fn write(
        &self,
        tx: &mut Tx,
        writes: Writes,
        dags: &[Seen],
        queued: &[QueuedAsset],
        report: &mut CreatedRuns,
    ) -> Result<(), DbError> {
        let rows: HashMap<&str, &Seen> = dags.iter().map(|dag| (dag.dag_id(), dag)).collect();
        let (runs, outlines): (Vec<_>, Vec<_>) =
            writes.runs.into_iter().map(|plan| (plan.run, (plan.outline, plan.deadlines))).unzip();
        let made = create_many(tx, runs, self.now).await?;
        for ((run, deadlines), made) in outlines.into_iter().zip(made) {
            let Some(dag) = rows.get(run.dag_id.as_str()) else { continue };
            let consumed_events = match run.run_type {
                RunType::AssetTriggered => self.consume(tx, dag, run.run_after, made.id, queued).await?,
                _ => 0,
            };
            let of_run = OfRun {
                id: made.id,
                dag_id: &run.dag_id,
                bundle_name: &dag.row.bundle_name,
                logical_date: run.logical_date,
            };
            let deadlines = deadlines.add(tx, &of_run, self.now).await?;
            report.created.push(run.created(made, consumed_events, deadlines));
        }
        for (next, dag_ids) in alike(&writes.next) {
            dag::scheduling::set_next_run(tx, &dag_ids, next).await?;
            report.is_more_due |= next.is_some_and(|next| next.run_after <= self.now);
        }
        for (exceeds, dag_ids) in [false, true].into_iter().zip(&writes.flags) {
            if !dag_ids.is_empty() {
                let ids: Vec<&str> = dag_ids.iter().map(String::as_str).collect();
                dag::scheduling::set_exceeds(tx, &ids, exceeds).await?;
            }
        }
        Ok(())
    }

    /// Ties to a run the events that it consumes, and takes exactly the assets that were locked out of the queue.
    async fn consume(
        &self,
        tx: &mut Tx,
        dag: &Seen,
        triggered_at: Timestamp,
        run: i64,
        queued: &[QueuedAsset],
    ) -> Result<u64, DbError> {
        let dag_id = dag.dag_id();
        let window = event_window(EventBounds {
            triggered_at,
            previous: dag_run::create::last_asset_triggered(tx, dag_id, triggered_at).await?,
            catchup: dag.definition.dag().catchup,
            waits_since: triggered_runs::waits_since(tx, dag_id).await?,
        });
        let consumed = triggered_runs::consume(tx, run, dag_id, window).await?;
        let mine = queued.iter().filter(|row| row.dag_id == dag_id);
        let rows: Vec<(i64, &str)> = mine.map(|row| (row.asset_id, dag_id)).collect();
        triggered_runs::unqueue(tx, &rows).await?;
        Ok(consumed)
    }
}

/// The DAGs whose next runs are the same, together: those of one schedule are written with one statement.
fn alike(next: &HashMap<String, Option<RunInfo>>) -> Vec<(Option<&RunInfo>, Vec<&str>)> {
    let mut groups: BTreeMap<_, (Option<&RunInfo>, Vec<&str>)> = BTreeMap::new();
    for (dag_id, next) in next {
        let key = next.as_ref().map(|run| {
            let interval = run.data_interval.map(|interval| (interval.start, interval.end));
            (run.run_after, interval, run.partition_date, run.partition_key.as_deref())
        });
        groups.entry(key).or_insert_with(|| (next.as_ref(), Vec::new())).1.push(dag_id);
    }
    groups.into_values().collect()
}
