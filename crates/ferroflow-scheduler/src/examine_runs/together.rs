//! Runs that need nothing but their step are examined together.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ferroflow_model::state::RunState;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use ferroflow_telemetry::metrics::runs;
use jiff::Timestamp;

use super::{Fate, RUNS_AT_ONCE};
use crate::Context;
use crate::active_runs::{Entry, RunKey};
use crate::run::{ActiveRun, Decided, write_together};

/// Runs that are examined together have no more instances than that: to decide about them takes a while, and what is
/// written is seen by no other transaction before all of it is.
const MAX_INSTANCES: usize = 5_000;

/// What became of runs.
pub(super) struct Examined {
    /// Those that were examined together.
    pub(super) fates: Vec<(RunKey, Entry, Fate)>,
    /// Those that did not fit in.
    pub(super) alone: Vec<Alone>,
}

/// A run that is to be examined alone.
pub(super) struct Alone {
    pub(super) key: RunKey,
    pub(super) entry: Entry,
    pub(super) begun: Begun,
}

/// How far one has come with a run.
pub(super) enum Begun {
    /// It may have to be read.
    Not,
    /// It was up to date, and this was decided about it.
    Decided(Decided),
    /// It was not as it was known when it should be written: others may look after it now, and whatever they have changed
    /// is read without an event.
    Stale,
}

impl Alone {
    fn undecided((key, entry): (RunKey, Entry)) -> Self {
        Self { key, entry, begun: Begun::Not }
    }
}

/// Examines those that can be examined together.
pub(super) async fn examine_together(
    cx: &Arc<Context>,
    dirty: Vec<(RunKey, Entry)>,
    now: Timestamp,
) -> Examined {
    let mut examined = Examined { fates: Vec::new(), alone: Vec::new() };
    let mut left = dirty.into_iter();
    loop {
        let mut some: Vec<_> = left.by_ref().take(RUNS_AT_ONCE).collect();
        if some.is_empty() {
            return examined;
        }
        read(cx, &mut some, now).await;
        examined.examine(cx, some, now).await;
        cx.progress.gets_on();
    }
}

impl Examined {
    async fn examine(&mut self, cx: &Context, some: Vec<(RunKey, Entry)>, now: Timestamp) {
        let mut instances = 0;
        let (fit, others): (Vec<_>, Vec<_>) = some.into_iter().partition(|(_, entry)| {
            let size = entry.run.as_ref().map_or(0, |run| run.size());
            let does_fit = fits(entry, now) && instances + size <= MAX_INSTANCES;
            instances += if does_fit { size } else { 0 };
            does_fit
        });
        self.alone.extend(others.into_iter().map(Alone::undecided));
        if fit.len() < 2 {
            self.alone.extend(fit.into_iter().map(Alone::undecided));
            return;
        }
        let watch = Stopwatch::start();
        let mut together = Vec::with_capacity(fit.len());
        for (key, mut entry) in fit {
            let Some(decided) = decide(cx, &key, &mut entry, now) else { continue };
            if decided.is_plain() {
                together.push((key, entry, decided));
            } else {
                self.alone.push(Alone { key, entry, begun: Begun::Decided(decided) });
            }
        }
        let written = write(cx, &together, now).await;
        let each = watch.elapsed() / u32::try_from(together.len().max(1)).unwrap_or(u32::MAX);
        for (key, mut entry, decided) in together {
            match entry.run.as_deref_mut() {
                Some(run) if written.contains(&run.row.id) => {
                    runs::examined(run.tags(), each.as_secs_f64());
                    let (scheduled, has_moved) = run.was_written(&decided, now);
                    self.fates.push((key, entry, Fate::GoesOn { scheduled, has_moved }));
                }
                _ => {
                    entry.run = None;
                    self.alone.push(Alone { key, entry, begun: Begun::Stale });
                }
            }
        }
    }
}

/// Reads those that have yet to be read.
async fn read(cx: &Arc<Context>, dirty: &mut [(RunKey, Entry)], now: Timestamp) {
    let unread: Vec<i64> =
        dirty.iter().filter(|(_, entry)| entry.run.is_none()).filter_map(|(_, entry)| entry.row_id).collect();
    if unread.len() < 2 {
        return;
    }
    let of_task = Arc::clone(cx);
    // A task of its own: should one of them make it panic, each is read alone.
    let read = tokio::spawn(async move { ActiveRun::load_together(&of_task, &unread, now).await });
    let read = match read.await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => return tracing::debug!("runs are read one by one: {}", chain(&error)),
        Err(error) => return tracing::error!(%error, "runs are read one by one"),
    };
    cx.progress.gets_on();
    let mut read: HashMap<i64, ActiveRun> = read.into_iter().map(|run| (run.row.id, run)).collect();
    for (key, entry) in dirty.iter_mut().filter(|(_, entry)| entry.run.is_none()) {
        let run = entry.row_id.and_then(|id| read.remove(&id));
        if let Some(run) = run.filter(|run| run.row.dag_id == key.dag_id && run.row.run_id == key.run_id) {
            entry.was_read(run);
        }
    }
}

/// Whether nothing has to be read of a run before its next step, and there is one.
fn fits(entry: &Entry, now: Timestamp) -> bool {
    let is_up_to_date = !entry.has_dag_changed && !entry.has_past_changed && entry.changed.is_empty();
    entry
        .run
        .as_ref()
        .is_some_and(|run| is_up_to_date && run.row.state == RunState::Running && run.needs_step(now))
}

/// Decides about a run. One that makes it panic is not attended any more; looking around finds it again.
fn decide(cx: &Context, key: &RunKey, entry: &mut Entry, now: Timestamp) -> Option<Decided> {
    let when_ready = entry.when_ready();
    let run = entry.run.as_deref_mut()?;
    let decided = catch_unwind(AssertUnwindSafe(|| run.decide(&cx.run_settings, when_ready, now)));
    if decided.is_err() {
        tracing::error!(dag_id = key.dag_id, run_id = key.run_id, "examination of a run panicked");
    }
    decided.ok()
}

/// Writes what was decided; answers the rows of those of which it was.
async fn write(cx: &Context, decided: &[(RunKey, Entry, Decided)], now: Timestamp) -> HashSet<i64> {
    let runs: Vec<(&ActiveRun, &Decided)> =
        decided.iter().filter_map(|(_, entry, decided)| Some((entry.run.as_deref()?, decided))).collect();
    if runs.is_empty() {
        return HashSet::new();
    }
    write_together(cx, &runs, now).await.unwrap_or_else(|error| {
        tracing::debug!("runs are written one by one: {}", chain(&error));
        HashSet::new()
    })
}
