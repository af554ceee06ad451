//! Without catchup a delta schedule asks for its latest complete interval, and a trigger of steps for now.

use ferroflow_model::timetable::{DataInterval, Delta, DeltaTrigger, Restriction, RunInfo, Timetable};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::prelude::*;
use serde_json::json;

use crate::timetable_properties::generate::{instant, relative_delta, timedelta_micros};
use crate::timetable_properties::scenario::Question;

/// Where something lies from now, in microseconds; also exactly now.
fn offset(most: i64) -> impl Strategy<Value = i64> + Clone {
    prop_oneof![1 => Just(0), 6 => -most..most / 4]
}

/// Where the last run ended, and how long it was; where the start date lies, and the end date.
type Bounds = (Option<(i64, i64)>, Option<i64>, Option<i64>);

fn bounds(most: i64) -> impl Strategy<Value = Bounds> {
    let length = prop_oneof![Just(0), 0..most];
    let last = prop::option::of((offset(most), length));
    (last, prop::option::of(offset(most)), prop::option::weighted(0.2, offset(most)))
}

fn question(now: Timestamp, (last, earliest, latest): Bounds) -> Question {
    let at = |micros: i64| now + SignedDuration::from_micros(micros);
    let last = last.map(|(end, length)| DataInterval { start: at(end - length), end: at(end) });
    let restriction = Restriction { earliest: earliest.map(at), latest: latest.map(at), catchup: false };
    Question { now, last, restriction }
}

fn ask(timetable: &Timetable, question: &Question) -> Option<RunInfo> {
    timetable.next_run(question.last_run().as_ref(), &question.restriction, question.now).unwrap()
}

/// The interval that starts with the latest complete one, or with the start date, or after the last run.
fn expected(
    question: &Question,
    start: Timestamp,
    step: impl Fn(Timestamp) -> Timestamp,
) -> Option<DataInterval> {
    let mut start = start.max(question.restriction.earliest.unwrap_or(start));
    if let Some(last) = question.last {
        start = start.max(last.end);
        if start <= last.start {
            start = step(start);
        }
    }
    (!question.ends_before(start)).then(|| DataInterval { start, end: step(start) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn without_catchup_a_timedelta_runs_for_its_latest_complete_interval_only(
        micros in timedelta_micros(), now in instant(), on_boundary in prop::bool::ANY, bounds in bounds(1 << 46),
    ) {
        let since_epoch = now.as_microsecond();
        let boundary = since_epoch - since_epoch.rem_euclid(micros);
        let now = if on_boundary { Timestamp::from_microsecond(boundary).unwrap() } else { now };
        let question = question(now, bounds);
        let timetable = Timetable::DeltaDataInterval(Delta::Fixed(SignedDuration::from_micros(micros)));
        let actual = ask(&timetable, &question).map(|run| run.data_interval.unwrap());
        // Airflow counts in floats, which have no room for every microsecond. So a boundary may be one off; and if
        // it is just now, it may not have come yet unless seconds are whole.
        let is_whole = micros % 1_000_000 == 0 && boundary % 1_000_000 == 0;
        let mut boundaries = vec![boundary];
        if !is_whole {
            boundaries.extend([boundary - 1, boundary + 1]);
        }
        if !is_whole && now.as_microsecond() - boundary <= 1 {
            boundaries.extend([-1, 0, 1].map(|error| boundary - micros + error));
        }
        if !is_whole && boundary + micros - now.as_microsecond() <= 1 {
            boundaries.extend([-1, 0, 1].map(|error| boundary + micros + error));
        }
        let step = |at: Timestamp| at + SignedDuration::from_micros(micros);
        let expected: Vec<_> = boundaries
            .iter()
            .map(|at| expected(&question, Timestamp::from_microsecond(at - micros).unwrap(), step))
            .collect();
        prop_assert!(expected.contains(&actual), "{question:?}: {actual:?}, not {expected:?}");
    }

    #[test]
    fn without_catchup_months_run_for_their_latest_complete_interval_only(
        years in 0_i16..3, months in 1_i32..30, days in prop_oneof![Just(0), 0..40], now in instant(), on_boundary in prop::bool::ANY, bounds in bounds(1 << 48),
    ) {
        let mut question = question(now, bounds);
        let delta = json!({"years": years, "months": months, "days": days});
        let timetable = decoded("interval.DeltaDataInterval", &json!({"delta": delta}));
        let (calendar, time) = (years.years().months(months), SignedDuration::from_hours(24) * days);
        let step = |at: Timestamp| utc(civil(at) + calendar) + time;
        // Steps are counted from the start date; without one, from now.
        let mut boundary = question.restriction.earliest.unwrap_or(now);
        while step(boundary) <= now {
            boundary = step(boundary);
        }
        // An interval that ends right now is complete.
        if on_boundary && boundary < now {
            question.now = boundary;
        }
        let now = question.now;
        let start = utc(civil(boundary) - calendar) - time;
        let actual = ask(&timetable, &question);
        let expected = expected(&question, start, step);
        prop_assert_eq!(actual.as_ref().map(|run| run.data_interval.unwrap()), expected);
        // A step back and one on may lead a day further where days come on top of months.
        let is_open = question.restriction.earliest.is_none_or(|earliest| step(earliest) <= now);
        if question.last.is_none() && is_open && days == 0 {
            prop_assert!(actual.is_none_or(|run| run.run_after <= now), "a complete one is due");
        }
    }

    #[test]
    fn without_catchup_a_trigger_of_steps_runs_now(
        micros in timedelta_micros(), relative in prop::option::of(relative_delta()), now in instant(),
        bounds in bounds(1 << 46), interval in timedelta_micros(),
    ) {
        let question = question(now, bounds);
        let interval = SignedDuration::from_micros(interval);
        let fixed = Delta::Fixed(SignedDuration::from_micros(micros));
        let delta = relative.map_or(fixed, |delta| {
            let Timetable::DeltaDataInterval(delta) = decoded("interval.DeltaDataInterval", &json!({"delta": delta}))
            else { panic!("not a delta") };
            delta
        });
        let following = question.last.map(|last| following(&delta, last.end));
        let time = [Some(now), following, question.restriction.earliest].into_iter().flatten().max().unwrap();
        let timetable = Timetable::DeltaTrigger(DeltaTrigger { delta, interval: Delta::Fixed(interval) });
        let expected = (!question.ends_before(time)).then(|| DataInterval { start: time - interval, end: time });
        prop_assert_eq!(ask(&timetable, &question).map(|run| run.data_interval.unwrap()), expected);
    }
}

/// The instant one step on: a run with catchup, whose interval starts with the start date, ends there.
fn following(delta: &Delta, at: Timestamp) -> Timestamp {
    let restriction = Restriction { earliest: Some(at), latest: None, catchup: true };
    Timetable::DeltaDataInterval(delta.clone()).next_run(None, &restriction, at).unwrap().unwrap().run_after
}

pub(crate) fn decoded(class: &str, fields: &serde_json::Value) -> Timetable {
    let class = format!("airflow.timetables.{class}Timetable");
    Timetable::decode(&json!({"__type": class, "__var": fields}).to_string()).unwrap()
}

fn civil(at: Timestamp) -> DateTime {
    TimeZone::UTC.to_datetime(at)
}

fn utc(at: DateTime) -> Timestamp {
    TimeZone::UTC.to_timestamp(at).unwrap()
}
