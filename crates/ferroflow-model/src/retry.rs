//! Whether a task that failed is tried again, and when.
//!
//! A `RetryPolicy` of the author's is asked by the worker, which alone has the exception. It may answer "fail",
//! "retry" or "as usual"; what comes here is a failure for good, or a retry with perhaps a wait of its own
//! ([`FailedTry::retry_delay_override`]). It cannot ask for more tries than the task has: the worker was told
//! before by [`worker_may_retry`] whether there are any left.

use jiff::{SignedDuration, Timestamp};
use sha1::{Digest as _, Sha1};

use crate::dag::Task;
use crate::document::timedelta;
use crate::python_datetime;
use crate::state::TaskState;
use crate::timetable::total_seconds;

/// A try that failed, as the row of its task instance has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailedTry<'a> {
    /// The DAG.
    pub dag_id: &'a str,
    /// The logical date of the run.
    pub logical_date: Option<Timestamp>,
    /// Which try it was.
    pub try_number: i32,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// The seconds to wait that a retry policy asked for.
    pub retry_delay_override: Option<f64>,
}

/// When the wait before the next try [is over](is_over); `longest_wait` is `[core] max_task_retry_delay`, in seconds.
///
/// Where the row does not say when the try ended, the wait begins now. What lies beyond the calendar becomes the
/// last instant that there is.
///
/// [Readiness](crate::readiness::Instance::due) waits for this time.
pub fn next_try(task: &Task, failed: &FailedTry<'_>, longest_wait: i64, now: Timestamp) -> Timestamp {
    let wait = match failed.retry_delay_override {
        Some(seconds) => of_seconds(seconds),
        None => wait(task, failed, longest_wait),
    };
    let last = if wait.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    failed.end_date.unwrap_or(now).checked_add(wait).unwrap_or(last)
}

/// Whether the wait is over. One whose beginning is not known is: it would never end.
pub fn is_due(task: &Task, failed: &FailedTry<'_>, longest_wait: i64, now: Timestamp) -> bool {
    failed.end_date.is_none() || is_over(next_try(task, failed, longest_wait, now), now)
}

/// Whether a wait until `due` is over: after that time, and not with it, as in Airflow.
pub fn is_over(due: Timestamp, now: Timestamp) -> bool {
    due < now
}

/// The first instant at which a wait until `due` is over, if time goes by microseconds, as Airflow's does.
pub fn over_at(due: Timestamp) -> Timestamp {
    due.checked_add(SignedDuration::from_micros(1)).unwrap_or(Timestamp::MAX)
}

/// Whether a task instance that fails now is tried again. `retries` is what the task says, where the task is known.
///
/// One that was cleared while it ran always is: that is what the clearing was for.
pub fn is_tried_again(
    state: Option<TaskState>,
    try_number: i32,
    max_tries: i32,
    retries: Option<i32>,
) -> bool {
    state == Some(TaskState::Restarting) || (retries != Some(0) && try_number <= max_tries)
}

/// What a worker is told at its start: whether it may ask for another try, should this one fail. The state is that
/// before the start.
pub fn worker_may_retry(state: Option<TaskState>, try_number: i32, max_tries: i32) -> bool {
    // The task is not looked up for this; `max_tries` began as what it says.
    is_tried_again(state, try_number, max_tries, Some(max_tries))
}

fn of_seconds(seconds: f64) -> SignedDuration {
    let beyond = if seconds > 0.0 { SignedDuration::MAX } else { SignedDuration::MIN };
    timedelta(seconds).unwrap_or(beyond)
}

/// The wait that follows from the settings of the task.
///
/// Only a wait that grows has bounds: neither of the two limits applies to a plain one, in Airflow too.
fn wait(task: &Task, failed: &FailedTry<'_>, longest_wait: i64) -> SignedDuration {
    let factor = task.details().retry_exponential_backoff;
    let is_growing = factor > 0.0 && factor.total_cmp(&1.0).is_ne();
    if !is_growing {
        return task.retry_delay;
    }
    let least = least_seconds(task.retry_delay, factor, failed.try_number);
    let seconds = match least {
        Some(least) if least < longest_wait => {
            least.saturating_add(jitter(task, failed, least)).min(longest_wait)
        }
        _ => longest_wait,
    };
    let grown = SignedDuration::from_secs(seconds);
    match task.details().max_retry_delay {
        Some(most) if !most.is_zero() => grown.min(most),
        _ => grown,
    }
}

/// The delay times the factor for each try before, in floats as Python computes it; `None` where these end.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a conversion from a float ends at the bounds of the integer"
)]
fn least_seconds(delay: SignedDuration, factor: f64, try_number: i32) -> Option<i64> {
    let microseconds = i64::try_from(delay.as_micros());
    let seconds = microseconds.map_or_else(|_| delay.as_secs_f64(), total_seconds);
    let least = (seconds * factor.powf(f64::from(try_number) - 1.0)).ceil();
    least.is_finite().then_some((least as i64).max(1))
}

/// Up to as much again, so that what failed together is not tried again together: by a hash, so that the answer is
/// the same whenever and wherever it is asked.
fn jitter(task: &Task, failed: &FailedTry<'_>, least: i64) -> i64 {
    let logical_date = failed.logical_date.map_or_else(|| "None".to_owned(), python_datetime);
    let text = format!("{}#{}#{logical_date}#{}", failed.dag_id, task.task_id, failed.try_number);
    let digest = Sha1::digest(text);
    let rest = |rest: i128, byte: &u8| (rest * 256 + i128::from(*byte)) % i128::from(least);
    i64::try_from(digest.iter().fold(0, rest)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::dag::Dag;

    const DAY: i64 = 86_400;
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    const FAILED: FailedTry<'_> = FailedTry {
        dag_id: "d",
        logical_date: None,
        try_number: 3,
        end_date: Some(Timestamp::UNIX_EPOCH),
        retry_delay_override: None,
    };

    /// A DAG whose only task has these settings.
    fn dag(settings: Value) -> Dag {
        let mut task = settings;
        task["task_id"] = json!("t");
        let timetable = json!({"__type": "airflow.timetables.simple.NullTimetable", "__var": {}});
        let group = json!({"_group_id": null, "children": {"t": ["operator", "t"]}});
        let document = json!({"__version": 3, "dag": {"dag_id": "d", "timetable": timetable,
            "tasks": [{"__type": "operator", "__var": task}], "task_group": group}});
        Dag::decode(&document.to_string()).unwrap()
    }

    fn seconds(settings: Value, failed: FailedTry<'_>) -> f64 {
        next_try(&dag(settings).tasks()[0], &failed, DAY, NOW).duration_since(NOW).as_secs_f64()
    }

    #[test]
    fn a_plain_wait_has_no_bounds() {
        for factor in [0.0, 1.0, -2.0] {
            let backoff = json!(factor);
            let settings = json!({"retry_delay": 200_000.5, "max_retry_delay": 10.0, "retry_exponential_backoff": backoff});
            assert_eq!(seconds(settings, FAILED).to_string(), "200000.5");
        }
    }

    #[test]
    fn a_wait_that_grows_has_two() {
        let growing = |more: Value| {
            let mut settings = json!({"retry_delay": 60.0, "retry_exponential_backoff": 2.0});
            settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            seconds(settings, FAILED)
        };
        assert!((240.0..480.0).contains(&growing(json!({}))));
        assert_eq!(growing(json!({"max_retry_delay": 100.0})).to_string(), "100");
        assert_eq!(growing(json!({"retry_delay": 1e6})).to_string(), "86400");
        assert_eq!(growing(json!({"retry_delay": 21_599.0})).to_string(), "86400");
        assert!(growing(json!({"max_retry_delay": 0.0})) >= 240.0);
    }

    #[test]
    fn a_wait_is_over_after_its_last_moment_and_not_with_it() {
        let dag = dag(json!({"retry_delay": 60.0}));
        let is_due = |now: &str| is_due(&dag.tasks()[0], &FAILED, DAY, now.parse().unwrap());
        assert!(!is_due("1970-01-01T00:01:00Z"));
        assert!(is_due("1970-01-01T00:01:00.000001Z"));
    }

    #[test]
    fn a_policy_s_wait_is_taken_as_it_is() {
        let settings = json!({"retry_exponential_backoff": 2.0, "max_retry_delay": 1.0});
        let failed = FailedTry { retry_delay_override: Some(1e6 + 0.25), ..FAILED };
        assert_eq!(seconds(settings, failed).to_string(), "1000000.25");
    }

    #[test]
    fn a_wait_without_a_beginning_begins_now_and_is_over() {
        let dag = dag(json!({"retry_delay": 60.0}));
        let (task, failed) = (&dag.tasks()[0], FailedTry { end_date: None, ..FAILED });
        let now = Timestamp::from_second(1000).unwrap();
        assert_eq!(next_try(task, &failed, DAY, now), Timestamp::from_second(1060).unwrap());
        assert!(is_due(task, &failed, DAY, now));
    }

    #[test]
    fn the_text_of_the_logical_date_is_python_s() {
        let text = |instant: &str| python_datetime(instant.parse().unwrap());
        assert_eq!(text("2025-01-01T00:00:00Z"), "2025-01-01 00:00:00+00:00");
        assert_eq!(text("0476-09-04T01:02:03.000450Z"), "0476-09-04 01:02:03.000450+00:00");
        assert_eq!(text("1969-12-31T23:59:59.5Z"), "1969-12-31 23:59:59.500000+00:00");
    }

    proptest! {
        #[test]
        fn no_settings_are_too_much(
            delay in -8.6e13_f64..8.6e13,
            factor in prop_oneof![any::<f64>(), 0.0..4.0, Just(1.0)],
            try_number in prop_oneof![any::<i32>(), 0..20],
            end in prop_oneof![any::<i64>(), Just(i64::MAX), 0..4_000_000_000_i64],
            retry_delay_override in proptest::option::weighted(0.1, any::<f64>()),
            longest_wait in any::<i64>(),
        ) {
            let factor = if factor.is_finite() { factor } else { 0.0 };
            let dag = dag(json!({"retry_delay": delay, "retry_exponential_backoff": factor}));
            let end = end.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
            let end_date = Some(Timestamp::from_second(end).unwrap());
            let failed = FailedTry { try_number, end_date, retry_delay_override, ..FAILED };
            let next = next_try(&dag.tasks()[0], &failed, longest_wait, NOW);
            prop_assert_eq!(next, next_try(&dag.tasks()[0], &failed, longest_wait, Timestamp::MAX));
        }
    }
}
