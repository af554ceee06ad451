//! By when something must have happened in a run.

use jiff::{SignedDuration, Timestamp};

use crate::dag::{DeadlineAlert, DeadlineInterval, DeadlineReference};

/// What deadlines of a run are counted from.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'a> {
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// When it was queued: now, as it is new.
    pub queued_at: Timestamp,
    /// How long the latest successful runs of its DAG took, the latest first.
    pub past: &'a [SignedDuration],
}

/// Why a run gets no deadline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDeadline {
    /// It stands for no date.
    #[error("the run has no logical date to count from")]
    NoLogicalDate,
    /// It is not known how long its DAG takes.
    #[error("{found} runs have succeeded, and {needed} are needed for an average")]
    TooFewRuns {
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: u32,
    },
    /// A custom class would have to be asked.
    #[error("the reference {0} is a class of its own, which is evaluated in Python")]
    NeedsPython(String),
    /// The time is beyond all calendars.
    #[error("the time of the deadline cannot be told")]
    OutOfRange,
}

/// By when it must have happened.
pub fn deadline(
    reference: &DeadlineReference,
    interval: SignedDuration,
    run: &RunFacts<'_>,
) -> Result<Timestamp, NoDeadline> {
    let base = match reference {
        DeadlineReference::LogicalDate => run.logical_date.ok_or(NoDeadline::NoLogicalDate)?,
        DeadlineReference::QueuedAt => run.queued_at,
        DeadlineReference::Fixed(at) => *at,
        DeadlineReference::AverageRuntime { max_runs, min_runs } => {
            let most = usize::try_from(*max_runs).unwrap_or(usize::MAX);
            let average = average(&run.past[..run.past.len().min(most)], *min_runs)?;
            run.queued_at.checked_add(average).map_err(|_| NoDeadline::OutOfRange)?
        }
        DeadlineReference::Custom { class, .. } => return Err(NoDeadline::NeedsPython(class.to_string())),
    };
    base.checked_add(interval).map_err(|_| NoDeadline::OutOfRange)
}

/// Where a deadline moves that was at `at`, when its run, queued at `was`, is queued again; `None` if it stays. What is in
/// a variable counts as it did when the run was made.
pub fn moved(
    alert: &DeadlineAlert,
    at: Timestamp,
    was: Option<Timestamp>,
    queued_at: Timestamp,
) -> Option<Timestamp> {
    if alert.reference != DeadlineReference::QueuedAt {
        return None;
    }
    let interval = match &alert.interval {
        DeadlineInterval::Fixed(interval) => *interval,
        DeadlineInterval::Variable(_) => at.duration_since(was?),
    };
    queued_at.checked_add(interval).ok()
}

fn average(past: &[SignedDuration], min_runs: u32) -> Result<SignedDuration, NoDeadline> {
    let found = past.len();
    let too_few = NoDeadline::TooFewRuns { found, needed: min_runs };
    let number = i128::try_from(found).unwrap_or(i128::MAX);
    if number < i128::from(min_runs) || number == 0 {
        return Err(too_few);
    }
    let microseconds: i128 = past.iter().map(SignedDuration::as_micros).sum();
    // Python rounds to microseconds, halves to the even one; a deadline is never that exact.
    let mean = (microseconds + number / 2).div_euclid(number);
    i64::try_from(mean).map(SignedDuration::from_micros).map_err(|_| NoDeadline::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn of(reference: &DeadlineReference, past: &[i64]) -> Result<Timestamp, NoDeadline> {
        let past: Vec<SignedDuration> =
            past.iter().map(|seconds| SignedDuration::from_secs(*seconds)).collect();
        let run = RunFacts { logical_date: Some(at(100)), queued_at: at(500), past: &past };
        deadline(reference, SignedDuration::from_secs(7), &run)
    }

    #[test]
    fn the_time_is_counted_from_what_the_reference_says() {
        assert_eq!(of(&DeadlineReference::LogicalDate, &[]), Ok(at(107)));
        assert_eq!(of(&DeadlineReference::QueuedAt, &[]), Ok(at(507)));
        assert_eq!(of(&DeadlineReference::Fixed(at(1)), &[]), Ok(at(8)));
        let class = DeadlineReference::Custom { class: "my.Ref".into(), data: crate::Json::null() };
        assert_eq!(of(&class, &[]), Err(NoDeadline::NeedsPython("my.Ref".to_owned())));
    }

    #[test]
    fn an_average_is_of_the_latest_runs_and_needs_enough_of_them() {
        let average = DeadlineReference::AverageRuntime { max_runs: 3, min_runs: 2 };
        assert_eq!(of(&average, &[10, 20, 30, 1000]), Ok(at(527)));
        assert_eq!(of(&average, &[10]), Err(NoDeadline::TooFewRuns { found: 1, needed: 2 }));
    }

    #[test]
    fn a_run_without_a_date_has_no_deadline_that_is_counted_from_it() {
        let run = RunFacts { logical_date: None, queued_at: at(500), past: &[] };
        let none = deadline(&DeadlineReference::LogicalDate, SignedDuration::ZERO, &run);
        assert_eq!(none, Err(NoDeadline::NoLogicalDate));
        let late = RunFacts { logical_date: None, queued_at: Timestamp::MAX, past: &[] };
        let none = deadline(&DeadlineReference::QueuedAt, SignedDuration::from_secs(1), &late);
        assert_eq!(none, Err(NoDeadline::OutOfRange));
    }

    #[test]
    fn a_deadline_moves_if_it_is_counted_from_when_the_run_was_queued() {
        let alert = |reference, interval| DeadlineAlert {
            name: None,
            reference,
            interval,
            callback: crate::Json::null(),
        };
        let minute = || DeadlineInterval::Fixed(SignedDuration::from_mins(1));
        let queued = alert(DeadlineReference::QueuedAt, minute());
        assert_eq!(moved(&queued, at(160), Some(at(100)), at(500)), Some(at(560)));
        assert_eq!(moved(&queued, at(160), None, at(500)), Some(at(560)));
        let dated = alert(DeadlineReference::LogicalDate, minute());
        assert_eq!(moved(&dated, at(160), Some(at(100)), at(500)), None);
        let variable = alert(DeadlineReference::QueuedAt, DeadlineInterval::Variable("patience".into()));
        assert_eq!(moved(&variable, at(130), Some(at(100)), at(500)), Some(at(530)));
        assert_eq!(moved(&variable, at(130), None, at(500)), None);
    }
}
