//! The runs of a backfill.

use jiff::Timestamp;

use super::error::{NoRun, Result};
use super::partition::Partitions;
use super::{Restriction, RunInfo, Timetable};

impl Timetable {
    /// The runs whose logical dates lie between two bounds, both included, in their order; of a partitioned
    /// timetable those whose partition dates do. The last item may be the reason why there are no more.
    pub fn runs_between(&self, earliest: Timestamp, latest: Timestamp, now: Timestamp) -> RunsBetween<'_> {
        let source = match self {
            Self::CronPartition(partition) => match partition.between(earliest, latest) {
                Ok(partitions) => Source::Partitions(partitions),
                Err(reason) => Source::Failed(Some(reason)),
            },
            // Which partitions of assets there are is not a matter of time.
            Self::PartitionedAsset(_) => Source::Failed(Some(NoRun::NotPartitioned)),
            timetable => {
                let restriction =
                    Restriction { earliest: Some(earliest), latest: Some(latest), catchup: true };
                Source::Runs { timetable, restriction, now, last: None }
            }
        };
        RunsBetween { source, is_over: false }
    }
}

/// See [`Timetable::runs_between`].
pub struct RunsBetween<'t> {
    source: Source<'t>,
    is_over: bool,
}

enum Source<'t> {
    Runs { timetable: &'t Timetable, restriction: Restriction, now: Timestamp, last: Option<RunInfo> },
    Partitions(Partitions<'t>),
    Failed(Option<NoRun>),
}

impl Iterator for RunsBetween<'_> {
    type Item = Result<RunInfo>;

    fn next(&mut self) -> Option<Result<RunInfo>> {
        if self.is_over {
            return None;
        }
        let item = match &mut self.source {
            Source::Partitions(partitions) => partitions.next(),
            Source::Failed(reason) => reason.take().map(Err),
            Source::Runs { timetable, restriction, now, last } => {
                let next = timetable.next_run(last.as_ref(), restriction, *now).transpose();
                match next {
                    // `@continuous` has one run for all the time up to now, and a delta may lead nowhere.
                    Some(Ok(run)) if last.as_ref().is_some_and(|last| !advances(last, &run)) => {
                        Some(Err(NoRun::DoesNotAdvance))
                    }
                    Some(Ok(run)) => {
                        *last = Some(run.clone());
                        Some(Ok(run))
                    }
                    other => other,
                }
            }
        };
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}

/// The logical date alone may well stay or go back: an interval can begin with its month, say.
fn advances(last: &RunInfo, run: &RunInfo) -> bool {
    run.run_after > last.run_after || run.logical_date() > last.logical_date()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(timetable: &str, from: &str, to: &str) -> Vec<String> {
        let timetable = Timetable::decode(timetable).unwrap();
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        let runs = timetable.runs_between(from, to, "2024-06-01T00:00:00Z".parse().unwrap());
        runs.take(50)
            .map(|run| match run {
                Ok(run) => run.logical_date().unwrap().to_string(),
                Err(reason) => reason.to_string(),
            })
            .collect()
    }

    #[test]
    fn both_bounds_are_included() {
        let daily = r#"{"__type": "airflow.timetables.interval.CronDataIntervalTimetable",
                        "__var": {"expression": "@daily", "timezone": "UTC"}}"#;
        assert_eq!(
            days(daily, "2024-01-01T00:00:00Z", "2024-01-03T00:00:00Z"),
            ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"]
        );
        assert_eq!(days(daily, "2024-01-01T00:00:01Z", "2024-01-02T23:59:59Z"), ["2024-01-02T00:00:00Z"]);
    }

    #[test]
    fn a_backfill_goes_on_while_intervals_begin_with_the_month() {
        let since_the_first = r#"{"__type": "airflow.timetables.trigger.CronTriggerTimetable", "__var": {
            "expression": "0 */8 * * *", "timezone": "UTC", "interval": {"day": 1}, "run_immediately": false}}"#;
        assert_eq!(
            days(since_the_first, "2024-03-02T08:00:00Z", "2024-03-03T08:00:00Z"),
            ["2024-03-01T08:00:00Z", "2024-03-01T16:00:00Z", "2024-03-01T00:00:00Z", "2024-03-01T08:00:00Z"]
        );
    }

    #[test]
    fn a_backfill_that_does_not_advance_ends() {
        let continuous = r#"{"__type": "airflow.timetables.simple.ContinuousTimetable", "__var": {}}"#;
        assert_eq!(
            days(continuous, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            ["2024-01-01T00:00:00Z", "2024-06-01T00:00:00Z", "the schedule does not advance"]
        );
        let still = r#"{"__type": "airflow.timetables.trigger.DeltaTriggerTimetable",
                        "__var": {"delta": 0.0, "interval": 0.0}}"#;
        assert_eq!(
            days(still, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            ["2024-01-01T00:00:00Z", "the schedule does not advance"]
        );
    }

    #[test]
    fn partitions_of_assets_are_not_a_matter_of_time() {
        let partitioned = r#"{"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": {
            "asset_condition": {"__type": "asset_any", "objects": []}, "partition_mapper_config": [],
            "default_partition_mapper":
                {"__type": "airflow.partition_mappers.identity.IdentityMapper", "__var": {}}}}"#;
        assert_eq!(
            days(partitioned, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            ["the timetable has no partitions"]
        );
    }
}
