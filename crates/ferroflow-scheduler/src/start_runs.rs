//! Step 2 of the cycle: queued runs start.
//!
//! A pass gathers the first runs of every queue without a lock and asks the model whose turn it is. Then it goes through
//! them, many in one transaction. Locks, in this order, each skipping what others hold: the rows of the DAGs in `dag`, so
//! that two schedulers do not fill the same free place; `backfill`; the runs themselves. What is locked is looked at
//! again and decided anew.

mod due;
mod report;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ferroflow_db::backfill::{self, Backfill};
use ferroflow_db::dag::scheduling::DagFacts as DagRow;
use ferroflow_db::dag_run::start::{RunningRuns, StartableRun};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, dag, dag_run};
use ferroflow_model::runs::start::{self, BackfillFacts, DagFacts, QueuedRun, Running, Snapshot, Verdict};
use ferroflow_model::state::{RunType, TriggeredBy};
use jiff::Timestamp;
use uuid::Uuid;

use crate::refused::Batches;
use crate::refused::RetryLater;
use crate::slice::Slice;
use crate::{Context, Error};

pub(crate) use due::start_due_runs;
pub use report::{NotStartedRun, Started, StartedRuns};

/// So many runs start in one transaction, if `[scheduler] max_dagruns_per_loop_to_schedule` does not say more.
const RUNS_PER_TRANSACTION: usize = 100;

/// So many runs of one queue are looked at in one pass.
const RUNS_PER_QUEUE: i64 = 64;

/// Of which DAGs queued runs are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Of none.
    #[default]
    None,
    /// Of those in which something has happened.
    Of(BTreeSet<String>),
    /// Of all: it is not known where something has happened.
    All,
}

impl Waiting {
    /// Of these alone.
    pub(crate) fn of(dag_ids: &BTreeSet<String>) -> Self {
        if dag_ids.is_empty() { Self::None } else { Self::Of(dag_ids.clone()) }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Of these, too.
    pub(crate) fn add(&mut self, dag_ids: impl IntoIterator<Item = String>) {
        let mut dag_ids = dag_ids.into_iter().peekable();
        match self {
            Self::All => {}
            Self::Of(known) => known.extend(dag_ids),
            Self::None if dag_ids.peek().is_none() => {}
            Self::None => *self = Self::Of(dag_ids.collect()),
        }
    }
}

/// Starts the queued runs that may start.
pub async fn start_runs(cx: &Context, now: Timestamp) -> Result<StartedRuns, Error> {
    let mut report = StartedRuns::default();
    start_some(cx, &Waiting::All, &mut RetryLater::default(), &Slice::endless(), now, &mut report).await?;
    Ok(report)
}

/// The same of some DAGs, and only for a while. A batch that the database refuses is started in halves, down to the run that
/// it does not take; that one is retried later. What has started is told whatever follows.
pub(crate) async fn start_some(
    cx: &Context,
    of: &Waiting,
    put_off: &mut RetryLater<i64>,
    slice: &Slice<'_>,
    now: Timestamp,
    report: &mut StartedRuns,
) -> Result<(), Error> {
    let waiting: &BTreeSet<i64> = &put_off.waiting(now).copied().collect();
    let load = cx.db.read(|tx| async move { Queues::load(tx, of, waiting, now).await }.scope_boxed());
    let queues = load.await?;
    let mut turns = Vec::new();
    for (run, verdict) in queues.decide(now) {
        match verdict {
            Verdict::Start => turns.push(run),
            Verdict::Refused(reason) => report.refuse(run, reason),
            Verdict::Postponed => {}
        }
    }
    let configured = cx.settings.scheduler.max_dagruns_per_loop_to_schedule;
    let most = usize::try_from(configured).unwrap_or(usize::MAX).max(RUNS_PER_TRANSACTION);
    let mut batches = Batches::new(&cx.db, turns.chunks(most).map(<[_]>::to_vec).collect());
    while let Some(batch) = batches.next() {
        cx.progress.gets_on();
        let runs = batch.as_slice();
        let start = batches.db().transact(|tx| async move { start_batch(tx, runs, now).await }.scope_boxed());
        match start.await {
            Ok(part) => {
                part.started.iter().for_each(|run| put_off.done(&run.id));
                report.add(part);
            }
            Err(error) => {
                if let Some((run, error)) = batches.refused(runs, error)? {
                    put_off.refused(run.id, batches.later(now));
                    report.leave(cx, run, error);
                }
            }
        }
        if !batches.is_in_halves() && slice.is_over() {
            break;
        }
    }
    report.later.extend(queues.cut_off(report));
    report.later.extend(batches.left().map(|run| run.dag_id.clone()));
    Ok(())
}

/// Locks the DAGs, the backfills and the runs, decides anew and starts them.
async fn start_batch(tx: &mut Tx, batch: &[&StartableRun], now: Timestamp) -> Result<StartedRuns, DbError> {
    let dag_ids: BTreeSet<&str> = batch.iter().map(|run| run.dag_id.as_str()).collect();
    let dags = dag::scheduling::lock_free(tx, &dag_ids.into_iter().collect::<Vec<_>>()).await?.dags;
    let dag_ids: BTreeSet<&str> = dags.iter().map(|dag| dag.dag_id.as_str()).collect();
    let of_dags = || batch.iter().filter(|run| dag_ids.contains(run.dag_id.as_str()));
    let wanted: BTreeSet<i32> = of_dags().filter_map(|run| run.backfill_id).collect();
    let backfills = if wanted.is_empty() {
        Vec::new()
    } else {
        backfill::lock_free(tx, &wanted.into_iter().collect::<Vec<_>>()).await?
    };
    let is_free = |run: &StartableRun| {
        run.backfill_id.is_none_or(|id| backfills.iter().any(|backfill| backfill.id == id))
    };
    let ids: Vec<i64> = of_dags().filter(|run| is_free(run)).map(|run| run.id).collect();
    if ids.is_empty() {
        return Ok(StartedRuns::default());
    }
    let locked: BTreeSet<i64> = dag_run::start::lock_queued(tx, &ids).await?.into_iter().collect();
    let runs: Vec<StartableRun> =
        of_dags().filter(|run| locked.contains(&run.id)).map(|run| (*run).clone()).collect();
    let mut queues = Queues { dags, backfills, runs, ..Queues::default() };
    queues.load_surroundings(tx).await?;
    let mut report = StartedRuns::default();
    let mut ids = Vec::new();
    for (run, verdict) in queues.decide(now) {
        match verdict {
            Verdict::Start => {
                ids.push(run.id);
                report.started.push(queues.started(run, now));
            }
            Verdict::Refused(reason) => report.refuse(run, reason),
            Verdict::Postponed => {}
        }
    }
    if !ids.is_empty() {
        dag_run::start::start(tx, &ids, now).await?;
    }
    Ok(report)
}

/// Queued runs, and what decides whether they start.
#[derive(Default)]
struct Queues {
    dags: Vec<DagRow>,
    backfills: Vec<Backfill>,
    runs: Vec<StartableRun>,
    running: Vec<RunningRuns>,
    /// The versions that are stored of each DAG's runs.
    newest: HashMap<String, (Uuid, String)>,
    tied: BTreeSet<Uuid>,
}

impl Queues {
    async fn load(
        tx: &mut Tx,
        of: &Waiting,
        put_off: &BTreeSet<i64>,
        now: Timestamp,
    ) -> Result<Self, DbError> {
        let waiting = match of {
            Waiting::None => Vec::new(),
            Waiting::Of(dag_ids) => dag_ids.iter().cloned().collect(),
            Waiting::All => dag_run::start::waiting_dags(tx).await?,
        };
        let ids: Vec<&str> = waiting.iter().map(String::as_str).collect();
        let mut dags = dag::scheduling::find(tx, &ids).await?.dags;
        dags.retain(|dag| !dag.is_paused && !dag.is_stale);
        let full = full_dags(tx, &dags).await?;
        dags.retain(|dag| !full.contains(&dag.dag_id));
        let ids: Vec<&str> = dags.iter().map(|dag| dag.dag_id.as_str()).collect();
        if ids.is_empty() {
            return Ok(Self::default());
        }
        let runs = dag_run::start::startable(tx, &ids, put_off, now, RUNS_PER_QUEUE).await?;
        let backfills: BTreeSet<i32> = runs.iter().filter_map(|run| run.backfill_id).collect();
        let backfills = if backfills.is_empty() {
            Vec::new()
        } else {
            backfill::find(tx, &backfills.into_iter().collect::<Vec<_>>()).await?
        };
        let mut queues = Self { dags, backfills, runs, ..Self::default() };
        queues.load_surroundings(tx).await?;
        Ok(queues)
    }

    /// What runs already, and which versions are stored.
    async fn load_surroundings(&mut self, tx: &mut Tx) -> Result<(), DbError> {
        let ids: BTreeSet<&str> = self.runs.iter().map(|run| run.dag_id.as_str()).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        if ids.is_empty() {
            return Ok(());
        }
        self.running = dag_run::start::running(tx, &ids).await?;
        self.newest = serialized_dag::latest_hashes(tx, &ids).await?;
        let tied: BTreeSet<Uuid> = self.runs.iter().filter_map(tied_to).collect();
        self.tied = if tied.is_empty() {
            tied
        } else {
            serialized_dag::stored(tx, &tied.into_iter().collect::<Vec<_>>()).await?.into_iter().collect()
        };
        Ok(())
    }

    /// Every run with what becomes of it, those that start in the order of their turns.
    fn decide(&self, now: Timestamp) -> Vec<(&StartableRun, Verdict)> {
        let dags: Vec<DagFacts<'_>> = self.dags.iter().map(dag_facts).collect();
        let backfills: Vec<BackfillFacts> = self.backfills.iter().map(backfill_facts).collect();
        let running: Vec<Running<'_>> = self.running.iter().map(running_facts).collect();
        let queued: Vec<QueuedRun<'_>> = self.runs.iter().map(|run| self.queued_facts(run)).collect();
        let snapshot = Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &running };
        let by_name: BTreeMap<(&str, &str), &StartableRun> =
            self.runs.iter().map(|run| ((run.dag_id.as_str(), run.run_id.as_str()), run)).collect();
        start::decide(&snapshot, now, usize::MAX)
            .into_iter()
            .filter_map(|decision| {
                Some((*by_name.get(&(decision.dag_id, decision.run_id))?, decision.verdict))
            })
            .collect()
    }

    fn queued_facts<'q>(&'q self, run: &'q StartableRun) -> QueuedRun<'q> {
        let has_definition = match tied_to(run) {
            Some(version) => self.tied.contains(&version),
            None => self.newest.contains_key(&run.dag_id),
        };
        QueuedRun {
            dag_id: &run.dag_id,
            run_id: &run.run_id,
            backfill_id: run.backfill_id,
            sort_ordinal: run.sort_ordinal,
            run_after: run.run_after,
            has_definition,
        }
    }

    fn started(&self, run: &StartableRun, now: Timestamp) -> Started {
        let is_periodic = self.dags.iter().any(|dag| dag.dag_id == run.dag_id && dag.timetable_periodic);
        let is_measured = is_periodic
            && run.run_type != RunType::Manual
            && run.triggered_by != Some(TriggeredBy::Asset)
            && run.clear_number < 1;
        Started {
            id: run.id,
            dag_id: run.dag_id.clone(),
            run_id: run.run_id.clone(),
            run_type: run.run_type,
            schedule_delay: is_measured.then(|| now.duration_since(run.run_after)),
        }
    }

    /// The DAGs of which a queue was longer than what was looked at, and all of that started.
    fn cut_off(&self, report: &StartedRuns) -> BTreeSet<String> {
        let mut lengths: HashMap<(&str, Option<i32>), i64> = HashMap::new();
        let started: BTreeSet<i64> = report.started.iter().map(|run| run.id).collect();
        for run in self.runs.iter().filter(|run| started.contains(&run.id)) {
            *lengths.entry((run.dag_id.as_str(), run.backfill_id)).or_default() += 1;
        }
        let cut_off = lengths.iter().filter(|(_, length)| **length >= RUNS_PER_QUEUE);
        cut_off.map(|((dag_id, _), _)| (*dag_id).to_owned()).collect()
    }
}

/// The DAGs of which as many runs are running as may, with each of their backfills: what waits there need not even be
/// read. Those in which nothing ever starts are not among them: that is worth a word.
async fn full_dags(tx: &mut Tx, dags: &[DagRow]) -> Result<BTreeSet<String>, DbError> {
    let ids: Vec<&str> = dags.iter().map(|dag| dag.dag_id.as_str()).collect();
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let running = dag_run::start::running(tx, &ids).await?;
    let counts: HashMap<(&str, Option<i32>), u32> =
        running.iter().map(|queue| ((queue.dag_id.as_str(), queue.backfill_id), queue.count)).collect();
    let is_full = |dag_id: &str, backfill_id: Option<i32>, limit: Option<i32>| {
        let count = counts.get(&(dag_id, backfill_id)).copied().unwrap_or(0);
        limit.and_then(|limit| u32::try_from(limit).ok()).is_some_and(|limit| count > 0 && count >= limit)
    };
    let full = dags.iter().filter(|dag| is_full(&dag.dag_id, None, dag.max_active_runs));
    let mut full: BTreeSet<String> = full.map(|dag| dag.dag_id.clone()).collect();
    let ids: Vec<&str> = full.iter().map(String::as_str).collect();
    for (dag_id, backfill) in backfill::with_queued_runs(tx, &ids).await? {
        if !backfill.is_paused && !is_full(&dag_id, Some(backfill.id), Some(backfill.max_active_runs)) {
            full.remove(&dag_id);
        }
    }
    Ok(full)
}

/// The version that a run is tied to, if its bundle has versions.
fn tied_to(run: &StartableRun) -> Option<Uuid> {
    let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
    run.created_dag_version_id.filter(|_| is_tied)
}

fn dag_facts(dag: &DagRow) -> DagFacts<'_> {
    DagFacts {
        dag_id: &dag.dag_id,
        is_paused: dag.is_paused,
        is_stale: dag.is_stale,
        max_active_runs: dag.max_active_runs,
    }
}

pub(crate) fn backfill_facts(backfill: &Backfill) -> BackfillFacts {
    BackfillFacts {
        id: backfill.id,
        is_paused: backfill.is_paused,
        is_completed: backfill.completed_at.is_some(),
        max_active_runs: backfill.max_active_runs,
    }
}

fn running_facts(running: &RunningRuns) -> Running<'_> {
    Running {
        dag_id: &running.dag_id,
        backfill_id: running.backfill_id,
        count: running.count,
        last_started: running.last_started,
    }
}
