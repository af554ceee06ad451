//! Schedules that no single cron expression can say, and the built-in timetable that says each.
//!
//! All of them in a zone with daylight saving time, across the days on which its clocks change: 8 March and
//! 1 November 2026 in New York.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use ferroflow_model::timetable::{Restriction, RunInfo, Timetable, Zone};
use jiff::civil::{Date, date};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};

const NEW_YORK: &str = "America/New_York";

#[test]
fn two_in_the_afternoon_on_thursdays_and_four_on_saturdays() {
    let timetable = several_crons(&["0 14 * * 4", "0 16 * * 6"]);
    assert_eq!(
        times(&timetable, "2026-03-04", 4),
        ["Thu 03-05 14:00 EST", "Sat 03-07 16:00 EST", "Thu 03-12 14:00 EDT", "Sat 03-14 16:00 EDT"]
    );
    assert_eq!(
        times(&timetable, "2026-10-29", 4),
        ["Thu 10-29 14:00 EDT", "Sat 10-31 16:00 EDT", "Thu 11-05 14:00 EST", "Sat 11-07 16:00 EST"]
    );
}

#[test]
fn one_in_the_afternoon_and_half_past_four() {
    let timetable = several_crons(&["0 13 * * *", "30 16 * * *"]);
    assert_eq!(
        times(&timetable, "2026-03-07", 4),
        ["Sat 03-07 13:00 EST", "Sat 03-07 16:30 EST", "Sun 03-08 13:00 EDT", "Sun 03-08 16:30 EDT"]
    );
    assert_eq!(
        times(&timetable, "2026-10-31", 4),
        ["Sat 10-31 13:00 EDT", "Sat 10-31 16:30 EDT", "Sun 11-01 13:00 EST", "Sun 11-01 16:30 EST"]
    );
}

/// Holidays that have a date: the expressions leave these dates out.
#[test]
fn daily_except_holidays_that_have_a_date() {
    let timetable =
        several_crons(&["0 6 2-31 1 *", "0 6 * 2-6,8-11 *", "0 6 1-3,5-31 7 *", "0 6 1-24,26-31 12 *"]);
    let runs = days(&runs(&timetable, "2026-01-01", 362));
    let holidays = [date(2026, 1, 1), date(2026, 7, 4), date(2026, 12, 25)];
    let expected: Vec<Date> =
        date(2026, 1, 1).series(1.day()).take(365).filter(|day| !holidays.contains(day)).collect();
    assert_eq!(runs, expected, "every day of 2026 but the three");
    assert_eq!(times(&timetable, "2026-03-08", 1), ["Sun 03-08 06:00 EDT"]);
    assert_eq!(times(&timetable, "2026-11-01", 1), ["Sun 11-01 06:00 EST"]);
}

/// Holidays that move (the first Monday in September, the fourth Thursday in November): the days are listed.
#[test]
fn daily_except_holidays_that_move() {
    let holidays = [date(2026, 9, 7), date(2026, 11, 26)];
    let zone = Zone::named(NEW_YORK).unwrap();
    let working: Vec<Date> =
        date(2026, 1, 1).series(1.day()).take(365).filter(|day| !holidays.contains(day)).collect();
    let dates: Vec<String> =
        working.iter().map(|day| zone.instant(day.at(6, 0, 0, 0)).unwrap().to_string()).collect();
    let timetable = decoded(
        "events.EventsTimetable",
        &json!({"event_dates": dates, "restrict_to_events": false, "description": "6:00 but not on holidays",
                "_summary": "except holidays"}),
    );
    assert_eq!(days(&runs(&timetable, "2026-01-01", 363)), working);
    assert_eq!(times(&timetable, "2026-03-07", 2), ["Sat 03-07 06:00 EST", "Sun 03-08 06:00 EDT"]);
    assert_eq!(times(&timetable, "2026-10-31", 2), ["Sat 10-31 06:00 EDT", "Sun 11-01 06:00 EST"]);
}

/// A cron expression for the mornings after, and a data interval of the day before.
#[test]
fn business_days_whose_friday_run_starts_on_saturday() {
    let timetable = decoded(
        "trigger.CronTriggerTimetable",
        &json!({"expression": "0 0 * * TUE-SAT", "timezone": NEW_YORK, "interval": 86400.0,
                "run_immediately": false}),
    );
    let shown = |from: &str| -> Vec<String> {
        let runs = runs(&timetable, from, 6);
        runs.iter()
            .map(|run| {
                let interval = run.data_interval.unwrap();
                let (start, end) = (local(interval.start), local(interval.end));
                format!("{} for {start} to {end}", local(run.run_after))
            })
            .collect()
    };
    assert_eq!(
        shown("2026-03-05"),
        [
            "Thu 03-05 00:00 EST for Wed 03-04 00:00 EST to Thu 03-05 00:00 EST",
            "Fri 03-06 00:00 EST for Thu 03-05 00:00 EST to Fri 03-06 00:00 EST",
            "Sat 03-07 00:00 EST for Fri 03-06 00:00 EST to Sat 03-07 00:00 EST",
            "Tue 03-10 00:00 EDT for Mon 03-09 00:00 EDT to Tue 03-10 00:00 EDT",
            "Wed 03-11 00:00 EDT for Tue 03-10 00:00 EDT to Wed 03-11 00:00 EDT",
            "Thu 03-12 00:00 EDT for Wed 03-11 00:00 EDT to Thu 03-12 00:00 EDT",
        ]
    );
    assert_eq!(
        shown("2026-10-30")[1..3],
        [
            "Sat 10-31 00:00 EDT for Fri 10-30 00:00 EDT to Sat 10-31 00:00 EDT",
            "Tue 11-03 00:00 EST for Mon 11-02 00:00 EST to Tue 11-03 00:00 EST",
        ]
    );
}

/// Without catchup a schedule of several expressions takes up the latest time that has passed, whichever it
/// came from, and then goes on with the next.
#[test]
fn several_expressions_do_not_make_up_for_what_was_missed() {
    let timetable = several_crons(&["0 13 * * *", "30 16 * * *"]);
    let earliest = Some("2026-01-01T00:00:00Z".parse().unwrap());
    let restriction = Restriction { earliest, latest: None, catchup: false };
    let now = "2026-03-08T19:00:00Z".parse().unwrap();
    let due = timetable.next_run(None, &restriction, now).unwrap().unwrap();
    let next = timetable.next_run(Some(&due), &restriction, now).unwrap().unwrap();
    assert_eq!([local(due.run_after), local(next.run_after)], ["Sun 03-08 13:00 EDT", "Sun 03-08 16:30 EDT"]);
}

fn several_crons(expressions: &[&str]) -> Timetable {
    decoded(
        "trigger.MultipleCronTriggerTimetable",
        &json!({"expressions": expressions, "timezone": NEW_YORK, "interval": 0.0, "run_immediately": false}),
    )
}

fn decoded(class: &str, fields: &Value) -> Timetable {
    let document = json!({"__type": format!("airflow.timetables.{class}"), "__var": fields});
    Timetable::decode(&document.to_string()).unwrap()
}

/// The first runs of a DAG that starts at the beginning of a day in New York and catches up.
fn runs(timetable: &Timetable, from: &str, count: usize) -> Vec<RunInfo> {
    let zone = Zone::named(NEW_YORK).unwrap();
    let earliest = zone.instant(from.parse::<Date>().unwrap().at(0, 0, 0, 0)).unwrap();
    let restriction = Restriction { earliest: Some(earliest), latest: None, catchup: true };
    let mut runs: Vec<RunInfo> = Vec::new();
    while runs.len() < count {
        match timetable.next_run(runs.last(), &restriction, earliest).unwrap() {
            Some(run) => runs.push(run),
            None => break,
        }
    }
    runs
}

fn times(timetable: &Timetable, from: &str, count: usize) -> Vec<String> {
    runs(timetable, from, count).iter().map(|run| local(run.run_after)).collect()
}

fn days(runs: &[RunInfo]) -> Vec<Date> {
    let zone = Zone::named(NEW_YORK).unwrap();
    runs.iter().map(|run| zone.wall(run.run_after).date()).collect()
}

fn local(at: Timestamp) -> String {
    Zone::named(NEW_YORK).unwrap().zoned(at).strftime("%a %m-%d %H:%M %Z").to_string()
}
