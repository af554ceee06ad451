//! Runs for a stretch of the past: whether they may be asked for, which they are, and what becomes of each date.

use jiff::Timestamp;

use crate::dag::{Dag, Flag};
use crate::python_isoformat;
use crate::state::{RunState, words};
use crate::timetable::RunInfo;

words! {
    /// Which runs that are there already are run again.
    Reprocess, "reprocess behavior":
    /// Those that failed.
    Failed = "failed",
    /// Those that ended.
    Completed = "completed",
    /// None.
    None = "none",
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first date; of a DAG with partitions, of these.
    pub from: Timestamp,
    /// The last date.
    pub to: Timestamp,
    /// Whether the latest date comes first.
    pub is_backwards: bool,
    /// Which runs that are there already are run again.
    pub reprocess: Reprocess,
}

/// Why a stretch is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBackfill {
    /// The DAG's schedule has no dates.
    #[error("{0} has a non-periodic schedule, of which no stretch of the past can be run")]
    NotPeriodic(String),
    /// The DAG says that it takes no such runs.
    #[error("Dag {0} does not allow backfill runs: its allowed_run_types leave them out")]
    NotAllowed(String),
    /// The end comes before the beginning.
    #[error("the first date ({}) is after the last ({}): exchange them", python_isoformat(*from), python_isoformat(*to))]
    EndsBeforeItBegins {
        /// The first date.
        from: Timestamp,
        /// The last date.
        to: Timestamp,
    },
    /// All of it lies ahead.
    #[error("all dates lie in the future: a backfill is for the past")]
    InTheFuture,
    /// A task waits for its instance of the run before, which would come after it.
    #[error("task {0} depends on the run before it, so the latest date cannot come first")]
    BackwardsWithDependence(String),
    /// A task waits for its instance of the run before, which may never run.
    #[error(
        "task {0} depends on the run before it: say which runs that are there are run again, failed or completed"
    )]
    DependenceWithoutReprocess(String),
}

/// Whether a stretch of a DAG may be run.
pub fn check(dag: &Dag, stretch: &Stretch, now: Timestamp) -> Result<(), NoBackfill> {
    let Stretch { from, to, .. } = *stretch;
    if from > to {
        return Err(NoBackfill::EndsBeforeItBegins { from, to });
    }
    if from >= now && to >= now {
        return Err(NoBackfill::InTheFuture);
    }
    let Some(task) = dag.tasks().iter().find(|task| task.is(Flag::DependsOnPast)) else { return Ok(()) };
    if stretch.is_backwards {
        return Err(NoBackfill::BackwardsWithDependence(task.task_id.to_string()));
    }
    if stretch.reprocess == Reprocess::None {
        return Err(NoBackfill::DependenceWithoutReprocess(task.task_id.to_string()));
    }
    Ok(())
}

/// Up to where it is worth asking a timetable: a run whose date is ahead does not belong to the past. Partitions may
/// be made ahead of their time.
pub fn last_date(stretch: &Stretch, is_partitioned: bool, now: Timestamp) -> Timestamp {
    if is_partitioned { stretch.to } else { stretch.to.min(now) }
}

/// Those runs of a timetable that belong to the stretch, in the order in which they run.
pub fn in_order(
    mut runs: Vec<RunInfo>,
    stretch: &Stretch,
    is_partitioned: bool,
    now: Timestamp,
) -> Vec<RunInfo> {
    if !is_partitioned {
        runs.retain(|run| run.data_interval.is_some_and(|interval| interval.end < now));
    }
    if stretch.is_backwards {
        runs.reverse();
    }
    runs
}

words! {
    /// Why there is no run for a date.
    Skipped, "reason for a skipped date":
    /// A run of that date waits or runs.
    InFlight = "in flight",
    /// A run of that date ended, and is not run again.
    AlreadyExists = "already exists",
    /// It is not decided yet: the backfill is still being made. Airflow knows the word and never writes it.
    Undecided = "unknown",
}

/// What becomes of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A run is made for it.
    Made,
    /// The run that is there begins anew.
    Cleared,
    /// Nothing.
    Skipped(Skipped),
}

/// What becomes of a date of which the last run, if there is any, is in this state. Where runs stand for partitions, a new
/// one is made beside that which is there.
pub fn fate(there: Option<RunState>, reprocess: Reprocess, is_partitioned: bool) -> Fate {
    let again = if is_partitioned { Fate::Made } else { Fate::Cleared };
    match (there, reprocess) {
        (None, _) => Fate::Made,
        (Some(state), _) if !state.is_finished() => Fate::Skipped(Skipped::InFlight),
        (Some(RunState::Failed), Reprocess::Failed) | (Some(_), Reprocess::Completed) => again,
        (Some(_), _) => Fate::Skipped(Skipped::AlreadyExists),
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::timetable::DataInterval;

    fn at(day: i8) -> Timestamp {
        jiff::civil::date(2026, 3, day).to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp()
    }

    fn stretch(from: i8, to: i8, is_backwards: bool) -> Stretch {
        Stretch { from: at(from), to: at(to), is_backwards, reprocess: Reprocess::None }
    }

    fn over(start: i8, end: i8) -> RunInfo {
        let data_interval = Some(DataInterval { start: at(start), end: at(end) });
        RunInfo { run_after: at(end), data_interval, partition_date: None, partition_key: None }
    }

    #[test_case(None, Reprocess::None => Fate::Made)]
    #[test_case(Some(RunState::Queued), Reprocess::Completed => Fate::Skipped(Skipped::InFlight))]
    #[test_case(Some(RunState::Running), Reprocess::Failed => Fate::Skipped(Skipped::InFlight))]
    #[test_case(Some(RunState::Success), Reprocess::None => Fate::Skipped(Skipped::AlreadyExists))]
    #[test_case(Some(RunState::Failed), Reprocess::None => Fate::Skipped(Skipped::AlreadyExists))]
    #[test_case(Some(RunState::Success), Reprocess::Failed => Fate::Skipped(Skipped::AlreadyExists))]
    #[test_case(Some(RunState::Failed), Reprocess::Failed => Fate::Cleared)]
    #[test_case(Some(RunState::Success), Reprocess::Completed => Fate::Cleared)]
    fn runs_that_are_there(there: Option<RunState>, reprocess: Reprocess) -> Fate {
        let of_partition = fate(there, reprocess, true);
        let of_date = fate(there, reprocess, false);
        let expected = if of_date == Fate::Cleared { Fate::Made } else { of_date };
        assert_eq!(of_partition, expected, "a partition is never cleared");
        of_date
    }

    #[test]
    fn runs_that_are_not_over_are_left_out_unless_they_are_partitions() {
        let runs = vec![over(1, 2), over(2, 3), over(3, 4)];
        let kept = |is_backwards, is_partitioned| {
            in_order(runs.clone(), &stretch(1, 9, is_backwards), is_partitioned, at(3))
        };
        assert_eq!(kept(false, false), [over(1, 2)]);
        assert_eq!(kept(true, true), [over(3, 4), over(2, 3), over(1, 2)]);
        assert_eq!(last_date(&stretch(1, 9, false), false, at(3)), at(3));
        assert_eq!(last_date(&stretch(1, 9, false), true, at(3)), at(9));
    }
}
