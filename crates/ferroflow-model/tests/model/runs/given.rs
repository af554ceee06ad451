//! Rows for tests: ordinary ones, to be changed in the point at hand.

use ferroflow_model::runs::{create, examine, start};
use ferroflow_model::timetable::DataInterval;
use jiff::Timestamp;

/// The time that most tests call now.
pub(crate) const NOW: i64 = 1_000_000;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A DAG of which nothing asks for a run.
pub(crate) fn idle_dag(dag_id: &str) -> create::DagFacts<'_> {
    create::DagFacts {
        dag_id,
        is_paused: false,
        is_stale: false,
        has_import_errors: false,
        max_active_runs: Some(16),
        active_runs: 0,
        active_backfill_runs: 0,
        next_dagrun_create_after: None,
        next_dagrun: None,
        next_dagrun_data_interval: None,
        next_dagrun_partition_key: None,
        next_dagrun_partition_date: None,
        next_dagrun_exists: false,
        timetable_partitioned: false,
        allowed_run_types: None,
        assets_triggered_at: None,
        got_partition_run: false,
        last_scheduled_at: None,
        last_asset_triggered_at: None,
    }
}

/// A DAG whose schedule asks for a run since that second.
pub(crate) fn scheduled_dag(dag_id: &str, due: i64) -> create::DagFacts<'_> {
    create::DagFacts {
        next_dagrun_create_after: Some(at(due)),
        next_dagrun: Some(at(due - 60)),
        next_dagrun_data_interval: Some(DataInterval { start: at(due - 60), end: at(due) }),
        ..idle_dag(dag_id)
    }
}

/// A DAG whose assets ask for a run since that second.
pub(crate) fn asset_dag(dag_id: &str, triggered: i64) -> create::DagFacts<'_> {
    create::DagFacts { assets_triggered_at: Some(at(triggered)), ..idle_dag(dag_id) }
}

/// A queued run without a backfill.
pub(crate) fn queued_run<'a>(dag_id: &'a str, run_id: &'a str, run_after: i64) -> start::QueuedRun<'a> {
    start::QueuedRun {
        dag_id,
        run_id,
        backfill_id: None,
        sort_ordinal: None,
        run_after: at(run_after),
        has_definition: true,
    }
}

/// A DAG of queued runs.
pub(crate) fn open_dag(dag_id: &str, max_active_runs: i32) -> start::DagFacts<'_> {
    start::DagFacts { dag_id, is_paused: false, is_stale: false, max_active_runs: Some(max_active_runs) }
}

/// A backfill that goes on.
pub(crate) fn open_backfill(id: i32, max_active_runs: i32) -> start::BackfillFacts {
    start::BackfillFacts { id, is_paused: false, is_completed: false, max_active_runs }
}

/// A run that started at that second, and was not looked at yet.
pub(crate) fn running_run<'a>(dag_id: &'a str, run_id: &'a str, started: i64) -> examine::RunningRun<'a> {
    examine::RunningRun {
        dag_id,
        run_id,
        dag_is_paused: false,
        dag_is_stale: false,
        is_backfill: false,
        run_after: at(0),
        logical_date: None,
        started: Some(at(started)),
        times_out: None,
        last_examined: None,
        is_dirty: false,
        failures: None,
    }
}
