//! Which runs a DAG gets next.

use ferroflow_db::dag;
use ferroflow_model::python_datetime;
use ferroflow_model::stored_dag::ParsedDag;
use ferroflow_model::timetable::{DataInterval, Restriction, RunInfo, Timetable};
use ferroflow_python::timetables::Timetables;
use ferroflow_telemetry::clock;

use super::{StoredDag, find};
use crate::{OperationError, Operations};

/// The row of a DAG, the run that a scheduler will make next, and those that follow it by the timetable: as many as there
/// are, up to `count`.
pub async fn next_runs(
    operations: &Operations,
    dag_id: &str,
    count: usize,
) -> Result<(dag::Dag, Vec<RunInfo>), OperationError> {
    let stored = find(&operations.db, dag_id).await?;
    let timetable = &stored.dag.timetable;
    let mut runs: Vec<RunInfo> = scheduled_run(&stored.row, timetable).into_iter().collect();
    if count > 1 && !runs.is_empty() {
        if timetable.custom().is_some() {
            by_user_code(operations, &stored, count, &mut runs).await?;
        } else {
            by_timetable(timetable, count, &mut runs)?;
        }
    }
    Ok((stored.row, runs))
}

fn by_timetable(timetable: &Timetable, count: usize, runs: &mut Vec<RunInfo>) -> Result<(), OperationError> {
    while let Some(last) = runs.last().filter(|_| runs.len() < count) {
        let next = timetable.next_run(Some(last), &UNBOUNDED, clock::now()).map_err(|reason| {
            let last = python_datetime(last.run_after);
            OperationError::unable("no_next_run", format!("the run after {last} cannot be told: {reason}"))
        })?;
        match next {
            Some(run) => runs.push(run),
            None => break,
        }
    }
    Ok(())
}

async fn by_user_code(
    operations: &Operations,
    stored: &StoredDag,
    count: usize,
    runs: &mut Vec<RunInfo>,
) -> Result<(), OperationError> {
    let dag_id = &stored.dag.dag_id;
    let unable = |message: String| OperationError::unable("timetable", message);
    let parsed = ParsedDag::read(&stored.document).map_err(|refusal| {
        unable(format!("the timetable of DAG {dag_id:?} cannot be read: {}", refusal.problems))
    })?;
    let document = parsed
        .custom_timetable
        .ok_or_else(|| unable(format!("DAG {dag_id:?} has no timetable of its own")))?;
    let timetables: Option<std::sync::Arc<Timetables>> = operations.user_code.timetables().await?;
    let timetables = timetables.ok_or_else(|| stored.no_python())?;
    while let Some(last) = runs.last().filter(|_| runs.len() < count) {
        let next = timetables.next_run(&document, Some(last), &UNBOUNDED).await;
        match next.map_err(|error| unable(error.explanation().clone()))? {
            Some(run) => runs.push(run),
            None => break,
        }
    }
    Ok(())
}

/// What the row of a DAG says about its next run.
fn scheduled_run(row: &dag::Dag, timetable: &Timetable) -> Option<RunInfo> {
    let run_after = row.next_dagrun_create_after?;
    let data_interval = row.next_dagrun.map(|logical_date| {
        match (row.next_dagrun_data_interval_start, row.next_dagrun_data_interval_end) {
            (Some(start), Some(end)) => DataInterval { start, end },
            // The row is older than data intervals: the run covers what its timetable covers.
            _ => match timetable {
                Timetable::CronDataInterval(_) | Timetable::DeltaDataInterval(_) => {
                    DataInterval { start: logical_date, end: run_after }
                }
                _ => DataInterval::exact(logical_date),
            },
        }
    });
    Some(RunInfo {
        run_after,
        data_interval,
        partition_date: row.next_dagrun_partition_date,
        partition_key: row.next_dagrun_partition_key.clone(),
    })
}

/// Whatever the bounds of the DAG: as Airflow asks.
const UNBOUNDED: Restriction = Restriction { earliest: None, latest: None, catchup: true };
