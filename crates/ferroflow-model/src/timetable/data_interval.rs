//! Timetables that cut time into data intervals and run at the end of each.

use jiff::{SignedDuration, Timestamp};

use super::delta::Delta;
use super::error::{NoRun, Result};
use super::schedule::Schedule;
use super::timedelta;
use super::zoned_cron::ZonedCron;
use super::{DataInterval, Restriction, RunInfo};

/// How many steps a schedule of months or years is followed from its start date to now. At one step a minute
/// this is two years; every real schedule is far below.
const MAX_STEPS: usize = 1_000_000;

/// The next run of a cron schedule.
pub(super) fn next_cron_run(
    cron: &ZonedCron,
    last: Option<DataInterval>,
    restriction: &Restriction,
    now: Timestamp,
) -> Result<Option<RunInfo>> {
    next_run(cron, last, restriction, |earliest| latest_cron_start(cron, earliest, now))
}

/// The next run of a schedule of equal steps.
pub(super) fn next_delta_run(
    delta: &Delta,
    last: Option<DataInterval>,
    restriction: &Restriction,
    now: Timestamp,
) -> Result<Option<RunInfo>> {
    next_run(delta, last, restriction, |earliest| latest_delta_start(delta, earliest, now))
}

/// The interval of a manual run: the last one that is complete.
pub(super) fn manual_cron_interval(cron: &ZonedCron, run_after: Timestamp) -> Result<DataInterval> {
    let end = cron.align_to_previous(run_after)?;
    Ok(DataInterval { start: cron.previous(end)?, end })
}

/// The interval of a manual run: the step that ends with it.
pub(super) fn manual_delta_interval(delta: &Delta, run_after: Timestamp) -> Result<DataInterval> {
    Ok(DataInterval { start: delta.previous(run_after)?, end: run_after })
}

fn next_run(
    schedule: &impl Schedule,
    last: Option<DataInterval>,
    restriction: &Restriction,
    latest_start: impl FnOnce(Option<Timestamp>) -> Result<Timestamp>,
) -> Result<Option<RunInfo>> {
    let earliest = match restriction.earliest {
        earliest if !restriction.catchup => Some(latest_start(earliest)?),
        Some(earliest) => Some(schedule.align_to_next(earliest)?),
        None => None,
    };
    let start = match (last, earliest) {
        (None, None) => return Ok(None),
        (None, Some(earliest)) => earliest,
        (Some(last), earliest) => start_after(schedule, last, earliest)?,
    };
    if restriction.latest.is_some_and(|latest| start > latest) {
        return Ok(None);
    }
    Ok(Some(RunInfo::over(start, schedule.next(start)?)))
}

/// Where the interval after another one starts: at its end, aligned in case the schedule has changed since,
/// and never at or before its start.
fn start_after(
    schedule: &impl Schedule,
    last: DataInterval,
    earliest: Option<Timestamp>,
) -> Result<Timestamp> {
    let aligned = schedule.align_to_previous(last.end)?;
    let start = earliest.map_or(aligned, |earliest| earliest.max(aligned));
    if start > last.start {
        return Ok(start);
    }
    let start = schedule.next(start)?;
    if start > last.start { Ok(start) } else { Err(NoRun::DoesNotAdvance) }
}

/// Without catchup: the start of the latest complete interval. One that ends right now is complete.
fn latest_cron_start(cron: &ZonedCron, earliest: Option<Timestamp>, now: Timestamp) -> Result<Timestamp> {
    let previous = cron.previous(now)?;
    let next = cron.next(previous)?;
    let start = match next.cmp(&now) {
        std::cmp::Ordering::Equal => previous,
        std::cmp::Ordering::Greater => cron.previous(previous)?,
        std::cmp::Ordering::Less => return Err(NoRun::ClocksChange),
    };
    match earliest {
        Some(earliest) => Ok(start.max(cron.align_to_next(earliest)?)),
        None => Ok(start),
    }
}

/// Without catchup: one step before the last boundary.
fn latest_delta_start(delta: &Delta, earliest: Option<Timestamp>, now: Timestamp) -> Result<Timestamp> {
    let boundary = last_boundary(delta, earliest.unwrap_or(now), now)?;
    let start = delta.previous(boundary)?;
    Ok(earliest.map_or(start, |earliest| earliest.max(start)))
}

/// The last boundary up to now. Boundaries of a fixed length are counted from 1970; those of months and years,
/// whose length varies, step by step from the start date.
fn last_boundary(delta: &Delta, anchor: Timestamp, now: Timestamp) -> Result<Timestamp> {
    if !delta.has_months_or_years() {
        return floor(now, delta.approximate_seconds());
    }
    let mut boundary = anchor;
    let mut seen = anchor;
    for step in 1..MAX_STEPS {
        let next = delta.next(boundary)?;
        if next > now {
            return Ok(boundary);
        }
        // One that leads back may lead on again, but not if it has been here before.
        if next == seen {
            break;
        }
        if step.is_power_of_two() {
            seen = next;
        }
        boundary = next;
    }
    Err(NoRun::DoesNotAdvance)
}

/// An instant rounded down to a multiple of a number of seconds since 1970, in floating point as Python does it.
fn floor(at: Timestamp, seconds: f64) -> Result<Timestamp> {
    if seconds == 0.0 {
        return Err(NoRun::NoLength);
    }
    let at = timedelta::total_seconds(at.as_microsecond());
    // Python's % takes the sign of the divisor.
    let mut remainder = at % seconds;
    if remainder != 0.0 && (remainder < 0.0) != (seconds < 0.0) {
        remainder += seconds;
    }
    let floored = at - remainder;
    let fraction = (floored.fract() * 1e6).round_ties_even();
    #[expect(clippy::cast_possible_truncation, reason = "a timestamp came in and its neighbour goes out")]
    let (whole, fraction) = (floored.trunc() as i64, fraction as i64);
    Timestamp::UNIX_EPOCH
        .checked_add(SignedDuration::from_secs(whole) + SignedDuration::from_micros(fraction))
        .map_err(|_| NoRun::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_catchup(delta: &str, earliest: Option<&str>) -> Result<Option<RunInfo>> {
        let delta = crate::document::decode(delta, Delta::read).unwrap();
        let earliest = earliest.map(|at| at.parse().unwrap());
        let now = "2024-03-31T12:00:00Z".parse().unwrap();
        next_delta_run(&delta, None, &Restriction { earliest, latest: None, catchup: false }, now)
    }

    #[test]
    fn months_are_counted_from_the_start_date() {
        let run = without_catchup(r#"{"months": 1}"#, Some("2023-01-31T00:00:00Z")).unwrap().unwrap();
        let interval = run.data_interval.unwrap();
        assert_eq!(interval.start.to_string(), "2024-02-28T00:00:00Z", "the 31st became the 28th for good");
        assert_eq!(interval.end.to_string(), "2024-03-28T00:00:00Z");
    }

    #[test]
    fn months_that_lead_nowhere_are_given_up() {
        for (delta, reason) in [
            (r#"{"months": 1, "month": 1, "day": 1}"#, NoRun::DoesNotAdvance),
            (r#"{"months": 1, "days": -30, "hours": -23}"#, NoRun::DoesNotAdvance),
            (r#"{"months": 1, "days": -40}"#, NoRun::OutOfRange),
            (r#"{"months": -1}"#, NoRun::OutOfRange),
        ] {
            let refused = without_catchup(delta, Some("2023-01-15T00:00:00Z"));
            assert_eq!(refused, Err(reason), "{delta}");
        }
    }

    #[test]
    fn a_delta_without_length_has_no_latest_interval() {
        assert_eq!(without_catchup("0", None), Err(NoRun::NoLength));
        assert_eq!(without_catchup(r#"{"day": 1}"#, None), Err(NoRun::NoLength));
    }
}
