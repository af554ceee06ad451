//! Step 3: runs that something has happened to are examined, and what follows is written.
//!
//! Those of which nothing has to be read that only one of them asks for, and in which instances only go to other states,
//! are examined [together]; all others alone.
//!
//! Locks: the rows of runs, and then those of their instances (skipped if another transaction has them).

mod together;

use std::collections::HashSet;
use std::sync::Arc;

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_model::readiness::RunVerdict;
use ferroflow_model::state::RunState;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;
use tokio::task::JoinSet;

use crate::active_runs::{ActiveRuns, Entry, Obstacle, RunKey};
use crate::run::{ActiveRun, SeenInstance, Stale};
use crate::slice::Slice;
use crate::{Context, Error, NoAnswer};
use together::{Alone, Begun, Examined, examine_together};

/// How many runs are examined in one cycle, so that a burst does not keep ready tasks waiting.
const MAX_RUNS: usize = 500;

/// So many are examined together, and before it is asked whether others have their turn.
const RUNS_AT_ONCE: usize = 100;

/// What became of the runs that were looked at.
#[derive(Debug, Default)]
pub struct ExaminedRuns {
    /// Instances that are ready to be queued.
    pub scheduled: Vec<SeenInstance>,
    /// Runs that have ended, and how.
    pub ended: Vec<(RunKey, RunVerdict)>,
    /// Runs that could not be moved on, and what was in the way. They are tried again later.
    pub put_off: Vec<(RunKey, Obstacle)>,
    /// How many were looked at.
    pub examined: usize,
    /// Those in which something was settled: it may be what the next run of their DAG waits for.
    moved: Vec<RunKey>,
    /// Those that are not looked after any more.
    left: Vec<RunKey>,
}

/// What became of one run.
enum Fate {
    /// It goes on.
    GoesOn {
        scheduled: Vec<SeenInstance>,
        /// Whether any of its instances was settled.
        has_moved: bool,
    },
    /// It has ended.
    Ended(RunVerdict),
    /// It is not this scheduler's: it is gone, does not run, or another scheduler tracks it.
    NotOurs,
    /// It does not go on: this is in the way. Before that, these have become ready.
    Stays(Obstacle, Vec<SeenInstance>),
}

/// Examines what is dirty, so many at a time, for a while.
pub(crate) async fn examine_runs(
    cx: &Arc<Context>,
    active_runs: &mut ActiveRuns,
    peers: &HashSet<i64>,
    width: usize,
    slice: &Slice<'_>,
    now: Timestamp,
) -> ExaminedRuns {
    let mut report = ExaminedRuns::default();
    let peers = Arc::new(peers.clone());
    loop {
        let dirty = active_runs.take_dirty(now, RUNS_AT_ONCE);
        let is_more = dirty.len() >= RUNS_AT_ONCE;
        examine_all(cx, active_runs, dirty, &peers, width, now, &mut report).await;
        if !is_more || report.examined >= MAX_RUNS || slice.is_over() {
            break;
        }
    }
    report.tell_passing();
    report
}

async fn examine_all(
    cx: &Arc<Context>,
    active_runs: &mut ActiveRuns,
    dirty: Vec<(RunKey, Entry)>,
    peers: &Arc<HashSet<i64>>,
    width: usize,
    now: Timestamp,
    report: &mut ExaminedRuns,
) {
    let Examined { fates, alone } = examine_together(cx, dirty, now).await;
    for (key, entry, fate) in fates {
        report.take_in(active_runs, key, entry, fate, now);
    }
    let mut waiting = alone.into_iter();
    let mut busy: JoinSet<(RunKey, Entry, Fate)> = JoinSet::new();
    loop {
        while busy.len() < width
            && let Some(Alone { key, entry, begun }) = waiting.next()
        {
            let (cx, peers) = (Arc::clone(cx), Arc::clone(peers));
            busy.spawn(async move {
                let mut entry = entry;
                let fate = match examine(&cx, &key, &mut entry, begun, &peers, now).await {
                    Ok(fate) => fate,
                    // A user has deleted it, perhaps while it was examined.
                    Err(Error::NoRun { .. }) => Fate::NotOurs,
                    Err(error) => {
                        entry.run = None;
                        Fate::Stays(obstacle_of(error), Vec::new())
                    }
                };
                (key, entry, fate)
            });
        }
        let ended = busy.join_next().await;
        cx.progress.gets_on();
        match ended {
            Some(Ok((key, entry, fate))) => report.take_in(active_runs, key, entry, fate, now),
            // A run whose examination has ended in a panic is not attended any more; looking around finds it again.
            Some(Err(error)) => tracing::error!(%error, "examination of a run panicked"),
            None => break,
        }
    }
    // Now that all are back: the next run may have been among them.
    let (moved, left) = (std::mem::take(&mut report.moved), std::mem::take(&mut report.left));
    moved.iter().chain(&left).for_each(|key| active_runs.past_has_changed(key, None));
    for key in &left {
        active_runs.untrack(key);
    }
}

impl ExaminedRuns {
    /// Runs with which something is wrong, and not only that others are at them.
    pub(crate) fn set_aside(&self) -> impl Iterator<Item = &RunKey> {
        let is_wrong = |what: &Obstacle| matches!(what, Obstacle::Refused(_) | Obstacle::Unreadable(_));
        self.put_off.iter().filter(move |(_, what)| is_wrong(what)).map(|(key, _)| key)
    }

    /// What is wrong with the database is no matter of any one run.
    fn tell_passing(&self) {
        let mut passing = self.put_off.iter().filter_map(|(_, what)| match what {
            Obstacle::Passing(reason) => Some(reason),
            _ => None,
        });
        let runs = passing.clone().count();
        if let Some(reason) = passing.next_back() {
            tracing::warn!(runs, "runs are examined later: {reason}");
        }
    }

    fn take_in(
        &mut self,
        active_runs: &mut ActiveRuns,
        key: RunKey,
        entry: Entry,
        fate: Fate,
        now: Timestamp,
    ) {
        self.examined += 1;
        match fate {
            Fate::GoesOn { scheduled, has_moved } => {
                self.scheduled.extend(scheduled);
                if has_moved {
                    self.moved.push(key.clone());
                }
                active_runs.give_back(key, entry, now);
            }
            Fate::Ended(verdict) => {
                tracing::info!(dag_id = key.dag_id, run_id = key.run_id, "run has ended: {verdict}");
                active_runs.know(&key, &entry);
                self.left.push(key.clone());
                self.ended.push((key, verdict));
            }
            Fate::NotOurs => {
                active_runs.know(&key, &entry);
                self.left.push(key);
            }
            Fate::Stays(obstacle, scheduled) => {
                self.scheduled.extend(scheduled);
                // Whatever it was told to look at was read.
                self.moved.push(key.clone());
                self.put_off.push((key.clone(), obstacle.clone()));
                active_runs.put_off(key, entry, obstacle, now);
            }
        }
    }
}

async fn examine(
    cx: &Context,
    key: &RunKey,
    entry: &mut Entry,
    begun: Begun,
    peers: &HashSet<i64>,
    now: Timestamp,
) -> Result<Fate, Error> {
    if !matches!(begun, Begun::Decided(_))
        && let Some(fate) = bring_up_to_date(cx, key, entry, now).await?
    {
        return Ok(fate);
    }
    let when_ready = entry.when_ready();
    let Some(run) = entry.run.as_deref_mut() else { return Ok(Fate::NotOurs) };
    let (was_stale, mut decided) = match begun {
        Begun::Not => (false, None),
        Begun::Decided(decided) => (false, Some(decided)),
        Begun::Stale => (true, None),
    };
    if was_stale && is_of_a_peer(run, peers) {
        return Ok(Fate::NotOurs);
    }
    let (mut scheduled, mut has_moved) = (Vec::new(), was_stale);
    while decided.is_some() || run.needs_step(now) {
        let watch = Stopwatch::start();
        let decision = match decided.take() {
            Some(decision) => decision,
            None => run.decide(&cx.run_settings, when_ready, now),
        };
        let step = match run.step_as_decided(&cx.db, &cx.run_settings, decision, now).await {
            Ok(step) => step,
            Err(error @ Error::NoRun { .. }) => return Err(error),
            // What has become ready before is in the database, and may be queued.
            Err(error) => {
                entry.run = None;
                return Ok(Fate::Stays(obstacle_of(error), scheduled));
            }
        };
        runs::examined(run.tags(), watch.elapsed().as_secs_f64());
        scheduled.extend(step.scheduled.iter().filter_map(|instance| run.seen(*instance)));
        has_moved |= !step.changed.is_empty();
        if let Some(stale) = step.stale {
            return Ok(after_a_stale_step(run, peers, stale, scheduled));
        }
        if !matches!(step.run, RunVerdict::Running | RunVerdict::NotBefore(_)) {
            run.measure_end(step.run);
            return Ok(Fate::Ended(step.run));
        }
    }
    Ok(Fate::GoesOn { scheduled, has_moved })
}

fn obstacle_of(error: Error) -> Obstacle {
    match error {
        Error::NoAnswer(NoAnswer::Awaited(who)) => Obstacle::Awaited(who),
        error if error.is_busy() => Obstacle::Locked,
        error if error.is_passing() => Obstacle::Passing(chain(&error)),
        error => Obstacle::Unreadable(chain(&error)),
    }
}

/// Another transaction was faster, or is at it. If it is of a peer that tracks its runs, this one is its run now.
fn after_a_stale_step(
    run: &ActiveRun,
    peers: &HashSet<i64>,
    stale: Stale,
    scheduled: Vec<SeenInstance>,
) -> Fate {
    if run.row.state != RunState::Running || is_of_a_peer(run, peers) {
        return Fate::NotOurs;
    }
    let obstacle = match stale {
        Stale::Locked => Obstacle::Locked,
        Stale::Changed => Obstacle::Changed,
        Stale::Refused(reason) => Obstacle::Refused(reason),
    };
    Fate::Stays(obstacle, scheduled)
}

/// Whether another scheduler tracks a run.
fn is_of_a_peer(run: &ActiveRun, peers: &HashSet<i64>) -> bool {
    run.row.scheduled_by_job_id.is_some_and(|job| peers.contains(&job))
}

/// Reads what has changed. Answers what becomes of a run that cannot be examined.
async fn bring_up_to_date(
    cx: &Context,
    key: &RunKey,
    entry: &mut Entry,
    now: Timestamp,
) -> Result<Option<Fate>, Error> {
    let (mut has_dag_changed, has_past_changed) =
        (std::mem::take(&mut entry.has_dag_changed), std::mem::take(&mut entry.has_past_changed));
    let changed: Vec<_> = std::mem::take(&mut entry.changed).into_iter().collect();
    let is_known = entry.run.is_some();
    let run = if let Some(run) = &mut entry.run {
        if !has_dag_changed {
            run.refresh(&cx.db, &cx.run_settings, &changed, now).await?;
        }
        run
    } else {
        let (dag_id, run_id) = (&key.dag_id, &key.run_id);
        let run =
            ActiveRun::load_with(&cx.db, &cx.run_settings, &cx.definitions, dag_id, run_id, now).await?;
        has_dag_changed = run.row.state == RunState::Running && run.is_behind_its_dag();
        entry.run.insert(Box::new(run))
    };
    if has_dag_changed {
        let dag_id = key.dag_id.as_str();
        let newest = cx.db.read(|tx| {
            async move { Error::split(cx.definitions.newest(tx, dag_id, now).await) }.scope_boxed()
        });
        let newest = newest.await??;
        // A run that was read a moment ago, with this very DAG, is not read again.
        let is_done = if !is_known && Arc::ptr_eq(&newest, &run.definition) {
            run.go_on_with_its_dag(&cx.db, &cx.run_settings, now).await?
        } else {
            run.go_on_with(&cx.db, &cx.run_settings, newest, now).await?
        };
        if !is_done {
            // Until it has the new tasks, nothing can be said of it.
            entry.run = None;
            return Ok(Some(Fate::Stays(Obstacle::Locked, Vec::new())));
        }
    }
    if has_past_changed {
        run.refresh_past(&cx.db).await?;
    }
    Ok((run.row.state != RunState::Running).then_some(Fate::NotOurs))
}
