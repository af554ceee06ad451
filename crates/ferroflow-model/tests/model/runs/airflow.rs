//! How Airflow 3.3.2 picks rows: an ORDER BY over columns that some kinds of rows do not have, then a LIMIT,
//! and only then the checks that the query does not make. Written anew, to show what that does to whom.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ferroflow_model::runs::create::DagFacts;
use ferroflow_model::runs::examine::RunningRun;
use ferroflow_model::runs::start::{QueuedRun, Snapshot};
use ferroflow_model::state::RunType;
use jiff::Timestamp;

/// Where a database puts rows that have nothing in the column it sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// `MySQL` and `SQLite`.
    First,
    /// `PostgreSQL`.
    Last,
}

/// The DAGs that get a run in one loop. `flags` is the column `exceeds_max_non_backfill`.
pub(crate) fn creates<'a>(
    dags: &[DagFacts<'a>],
    flags: &BTreeMap<&str, bool>,
    now: Timestamp,
    nulls: Nulls,
    limit: usize,
) -> Vec<&'a str> {
    let is_ready = |dag: &DagFacts<'_>| {
        let active = i64::from(dag.active_runs) + i64::from(dag.active_backfill_runs);
        dag.assets_triggered_at.is_some() && active < i64::from(dag.max_active_runs.unwrap_or(i32::MAX))
    };
    let mut rows: Vec<&DagFacts<'a>> = dags
        .iter()
        .filter(|dag| !dag.is_paused && !dag.is_stale && !dag.has_import_errors)
        .filter(|dag| !flags.get(dag.dag_id).copied().unwrap_or_default())
        .filter(|dag| is_ready(dag) || dag.next_dagrun_create_after.is_some_and(|due| due <= now))
        .collect();
    rows.sort_by(|one, other| match (one.next_dagrun_create_after, other.next_dagrun_create_after) {
        (None, Some(_)) if nulls == Nulls::Last => Ordering::Greater,
        (Some(_), None) if nulls == Nulls::Last => Ordering::Less,
        (one, other) => one.cmp(&other),
    });
    rows.truncate(limit);
    let is_allowed = |dag: &DagFacts<'_>| {
        is_ready(dag) || dag.allowed_run_types.is_none_or(|kinds| kinds.contains(&RunType::Scheduled))
    };
    rows.into_iter().filter(|dag| is_allowed(dag)).map(|dag| dag.dag_id).collect()
}

/// The runs that start in one loop.
pub(crate) fn starts<'a>(snapshot: &Snapshot<'a>, now: Timestamp, limit: usize) -> Vec<&'a str> {
    let mut counts: BTreeMap<(&str, Option<i32>), i64> = BTreeMap::new();
    for running in snapshot.running {
        *counts.entry((running.dag_id, running.backfill_id)).or_default() += i64::from(running.count);
    }
    let count = |counts: &BTreeMap<_, i64>, run: &QueuedRun<'_>| {
        counts.get(&(run.dag_id, run.backfill_id)).copied().unwrap_or_default()
    };
    let limit_of = |run: &QueuedRun<'_>| match run.backfill_id {
        None => snapshot.dags.iter().find(|dag| dag.dag_id == run.dag_id).and_then(|dag| dag.max_active_runs),
        Some(id) => snapshot.backfills.iter().find(|row| row.id == id).map(|row| row.max_active_runs),
    };
    let may_start = |counts: &BTreeMap<_, i64>, run: &QueuedRun<'_>| {
        limit_of(run).is_some_and(|limit| count(counts, run) < i64::from(limit))
    };
    let mut rows: Vec<&QueuedRun<'a>> =
        snapshot.queued.iter().filter(|run| run.run_after <= now && may_start(&counts, run)).collect();
    rows.sort_by_key(|run| (run.sort_ordinal, count(&counts, run), run.run_after));
    rows.truncate(limit);
    let mut started = Vec::new();
    for run in rows {
        if may_start(&counts, run) {
            *counts.entry((run.dag_id, run.backfill_id)).or_default() += 1;
            started.push(run.run_id);
        }
    }
    started
}

/// The runs that are looked at in one loop. Of those, one whose date lies ahead keeps its place for ever.
pub(crate) fn examines<'a>(runs: &[RunningRun<'a>], now: Timestamp, limit: usize) -> Vec<&'a str> {
    let mut rows: Vec<&RunningRun<'a>> = runs.iter().filter(|run| run.run_after <= now).collect();
    rows.sort_by_key(|run| (run.is_backfill, run.last_examined, run.run_after));
    rows.truncate(limit);
    let is_ahead = |run: &RunningRun<'_>| run.logical_date.is_some_and(|date| date > now);
    rows.into_iter().filter(|run| !is_ahead(run)).map(|run| run.run_id).collect()
}
