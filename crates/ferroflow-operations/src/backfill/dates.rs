//! The dates of a stretch, as a timetable tells them.

use std::collections::HashMap;

use ferroflow_model::backfill::{Stretch, in_order, last_date};
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::{RunInfo, backfill_run_id};
use ferroflow_telemetry::chain;
use jiff::Timestamp;

use crate::OperationError;
use crate::dag::StoredDag;
use crate::dag_run::RunMaking;

/// More are not made at once: all dates are noted in one transaction.
const MAX_RUNS: usize = 100_000;

/// What a timetable is, as far as it matters here.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) is_periodic: bool,
    is_partitioned: bool,
}

/// The runs of a stretch, in the order in which they run.
pub(super) struct Dates {
    pub(super) runs: Vec<RunInfo>,
    /// Whether they stand for partitions, and not for dates.
    pub(super) are_partitions: bool,
}

impl Dates {
    /// What tells a run from the others of its DAG.
    pub(super) fn date(&self, run: &RunInfo) -> Option<Timestamp> {
        if self.are_partitions { run.partition_date } else { run.logical_date() }
    }

    /// The first and the last date.
    pub(super) fn bounds(&self) -> Option<(Timestamp, Timestamp)> {
        self.first_and_last(self.runs.iter())
    }

    /// The same, of those at some places.
    pub(super) fn bounds_of(&self, places: &[usize]) -> Option<(Timestamp, Timestamp)> {
        self.first_and_last(places.iter().map(|place| &self.runs[*place]))
    }

    fn first_and_last<'a>(
        &self,
        runs: impl Iterator<Item = &'a RunInfo> + Clone,
    ) -> Option<(Timestamp, Timestamp)> {
        let dates = runs.filter_map(|run| self.date(run));
        dates.clone().min().zip(dates.max())
    }

    /// The place of each date, by what is noted of it.
    pub(super) fn places(&self) -> HashMap<(Option<Timestamp>, Option<&str>), usize> {
        let places = self.runs.iter().enumerate();
        places.map(|(place, run)| ((run.logical_date(), run.partition_key.as_deref()), place)).collect()
    }
}

impl RunMaking {
    pub(super) async fn kind(&self, stored: &StoredDag) -> Result<Kind, OperationError> {
        let timetable = &stored.dag.timetable;
        if timetable.custom().is_none() {
            let (is_periodic, is_partitioned) = (timetable.is_periodic(), timetable.is_partitioned());
            return Ok(Kind { is_periodic, is_partitioned });
        }
        let Some(python) = &self.timetables else { return Err(stored.no_python()) };
        let described = python.describe(&stored.timetable_document()?).await;
        let described = described.map_err(|error| OperationError::value_error(chain(&error)))?;
        Ok(Kind { is_periodic: described.periodic, is_partitioned: described.partitioned })
    }

    /// The runs of a stretch.
    pub(super) async fn dates(
        &self,
        stored: &StoredDag,
        kind: Kind,
        stretch: &Stretch,
        now: Timestamp,
    ) -> Result<Dates, OperationError> {
        let last = last_date(stretch, kind.is_partitioned, now);
        let runs = self.asked(stored, stretch.from, last, now).await?;
        if runs.len() > MAX_RUNS {
            let message = format!("there are more than {MAX_RUNS} runs between these dates: ask for fewer");
            return Err(OperationError::refused("too_many_runs", message));
        }
        let runs = in_order(runs, stretch, kind.is_partitioned, now);
        let are_partitions = runs.first().is_some_and(has_key);
        let is_other = |run: &RunInfo| {
            has_key(run) != are_partitions || (!are_partitions && run.logical_date().is_none())
        };
        if runs.iter().any(is_other) {
            return Err(OperationError::value_error(
                "the timetable mixes runs of dates with runs of partitions",
            ));
        }
        Ok(Dates { runs, are_partitions })
    }

    async fn asked(
        &self,
        stored: &StoredDag,
        first: Timestamp,
        last: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<RunInfo>, OperationError> {
        let timetable = &stored.dag.timetable;
        if timetable.custom().is_none() {
            let runs = timetable.runs_between(first, last, now).take(MAX_RUNS + 1);
            return runs
                .collect::<Result<_, _>>()
                .map_err(|reason| OperationError::value_error(reason.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(stored.no_python()) };
        let runs = python.runs_between(&stored.timetable_document()?, first, last, MAX_RUNS + 1).await;
        Ok(runs.map_err(|error| OperationError::value_error(chain(&error)))?.runs)
    }

    /// The name of a run of a backfill. Of those of partitions, the timetable has a say.
    pub(super) async fn backfill_run_id(
        &self,
        stored: &StoredDag,
        run: &RunInfo,
    ) -> Result<String, OperationError> {
        let timetable = &stored.dag.timetable;
        let name = if !has_key(run) {
            backfill_run_id(run.run_after)
        } else if timetable.custom().is_some() {
            let Some(python) = &self.timetables else { return Err(stored.no_python()) };
            let document = stored.timetable_document()?;
            let named = python.run_id(&document, RunType::Backfill.as_str(), run).await;
            named.map_err(|error| OperationError::value_error(chain(&error)))?
        } else {
            let key = run.partition_key.as_deref();
            let named = timetable.run_id(RunType::Backfill, run.run_after, key, rand::random());
            named.map_err(|error| OperationError::value_error(error.to_string()))?
        };
        self.check_run_id(&name)?;
        Ok(name)
    }
}

fn has_key(run: &RunInfo) -> bool {
    run.partition_key.as_deref().is_some_and(|key| !key.is_empty())
}
