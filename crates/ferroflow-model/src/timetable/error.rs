//! Why a timetable has no answer.

use super::KeyMismatch;
use crate::partition_mapper::KeyProblem;

/// Why there is no next run, interval or partition. Airflow raises an exception in each of these cases; for
/// the next run it logs that and schedules nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRun {
    /// The expression matches nothing in the 50 years ahead.
    #[error("the cron expression matches no time in the next 50 years")]
    NeverAgain,
    /// The expression matches nothing in the past 50 years.
    #[error("the cron expression matches no time in the past 50 years")]
    NeverBefore,
    /// The answer lies before the year 1, or after the last instant of jiff's.
    #[error("the time is beyond the calendar (0001-01-01 to 9999-12-30)")]
    OutOfRange,
    /// The previous run of the schedule, looked for from now, is followed by one that is past too. Near the
    /// end of daylight saving time this happens to schedules that name the repeated hour.
    #[error("the clocks change about now: the schedule has no latest interval at the moment")]
    ClocksChange,
    /// A step of the schedule does not lead forward.
    #[error("the schedule does not advance")]
    DoesNotAdvance,
    /// A delta whose length is zero, or made of fields that replace instead of add.
    #[error("the delta has no length to count in")]
    NoLength,
    /// The text of a partition key does not fit the format of keys.
    #[error(transparent)]
    Key(#[from] KeyMismatch),
    /// A partition key that the mappers of assets can make nothing of.
    #[error(transparent)]
    Mapper(#[from] KeyProblem),
    /// A question that only partitioned timetables answer.
    #[error("the timetable has no partitions")]
    NotPartitioned,
    /// A timetable written in Python: the class itself must be asked.
    #[error("{0} is a timetable of its own, evaluated by the Python bridge")]
    Custom(String),
}

pub(crate) type Result<T> = std::result::Result<T, NoRun>;
