//! What holds for every schedule, in every zone of the database, around every change of its clocks.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::HashSet;

use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{
    CronTrigger, Delta, Restriction, RunImmediately, RunInfo, Timetable, Zone, ZonedCron,
};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn next_and_previous_agree_on_civil_time(expression in expression(), start in civil_time()) {
        let cron = Cron::parse(&expression).unwrap();
        let Some(next) = cron.next(start) else { return Ok(()) };
        prop_assert!(next > start);
        if let Some(previous) = cron.previous(next) {
            prop_assert!(previous <= start, "{previous} lies between {start} and its next match {next}");
            prop_assert_eq!(cron.next(previous), Some(next));
        }
        if let Some(previous) = cron.previous(start) {
            prop_assert!(previous < start);
            prop_assert!(cron.next(previous).is_none_or(|next| next >= start));
        }
    }

    #[test]
    fn a_chain_of_next_runs_increases(timetable in timetable(), start in instant(), earliest in prop::bool::ANY) {
        let timetable = Timetable::decode(&timetable.to_string()).unwrap();
        let restriction = Restriction { earliest: earliest.then_some(start), latest: None, catchup: true };
        let mut last: Option<RunInfo> = None;
        for _ in 0..20 {
            let Ok(Some(run)) = timetable.next_run(last.as_ref(), &restriction, start) else { break };
            if let Some(last) = &last {
                prop_assert!(run.run_after > last.run_after, "{run:?} after {last:?}");
                prop_assert!(run.logical_date() > last.logical_date(), "{run:?} after {last:?}");
            }
            last = Some(run);
        }
    }

    #[test]
    fn without_catchup_a_delta_runs_for_its_latest_complete_interval_only(
        micros in 1_i64..100_000_000_000_000, now in instant(), age in prop::option::of(0_i64..10_000_000_000),
    ) {
        let delta = SignedDuration::from_micros(micros);
        let timetable = Timetable::DeltaDataInterval(Delta::Fixed(delta));
        let earliest = age.map(|age| now - SignedDuration::from_micros(age));
        let restriction = Restriction { earliest, latest: None, catchup: false };
        let run = timetable.next_run(None, &restriction, now).unwrap().unwrap();
        let interval = run.data_interval.unwrap();
        prop_assert_eq!(interval.end.duration_since(interval.start), delta);
        prop_assert!(interval.end + delta > now, "{:?} is complete long since at {}", interval, now);
        if earliest.is_none() {
            prop_assert!(interval.end <= now);
        }
    }

    #[test]
    fn any_text_is_an_expression_or_an_error(text in "\\PC{0,40}") {
        let _ = Cron::parse(&text);
    }

    #[test]
    fn any_text_of_cron_characters_is_an_expression_or_an_error(text in "[0-9*/,#?lwLWhrmontueja()@ -]{0,40}") {
        if let Ok(cron) = Cron::parse(&text) {
            let start = DateTime::constant(2024, 2, 29, 12, 0, 0, 0);
            prop_assert!(cron.next(start).is_none_or(|next| next > start));
            prop_assert!(cron.previous(start).is_none_or(|previous| previous < start));
        }
    }
}

#[test]
fn a_date_that_never_comes_is_given_up() {
    for expression in
        ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * 30 2 * *", "0 0 29 2 * 0 2023", "35 * 31 4 6"]
    {
        let cron = Cron::parse(expression).unwrap();
        for start in [DateTime::MIN, DateTime::MAX, DateTime::constant(2024, 1, 31, 0, 0, 0, 0)] {
            assert_eq!(cron.next(start), None, "{expression}");
            assert_eq!(cron.previous(start), None, "{expression}");
        }
    }
}

#[test]
fn around_every_change_of_clocks_next_lies_ahead() {
    for_every_change(|cron, at| {
        let mut at = at - 2.hours();
        let end = at + 30.hours();
        for _ in 0..6 {
            let next = cron.next(at).unwrap();
            assert!(next > at, "{} in {}: {at} is followed by {next}", cron.expression(), cron.zone());
            at = if next < end { next } else { at + 37.minutes() };
        }
    });
}

#[test]
fn where_clocks_do_not_change_next_and_previous_agree() {
    for_every_change(|cron, at| {
        let at = at + 49.hours();
        let (Ok(previous), Ok(next)) = (cron.previous(at), cron.next(at)) else { return };
        if clocks_change(cron.zone(), previous - 26.hours(), next + 26.hours()) {
            return;
        }
        let what = format!("{} in {} at {at}", cron.expression(), cron.zone());
        assert!(previous < at, "{what}: {previous}");
        assert!(cron.previous(next).unwrap() <= at, "{what}: {next}");
        assert!(cron.next(previous).unwrap() >= at, "{what}: {previous}");
        assert_eq!(cron.next(cron.previous(next).unwrap()).unwrap(), next, "{what}");
    });
}

#[test]
fn without_catchup_a_cron_runs_for_its_latest_complete_interval_only() {
    for_every_change(|cron, change| {
        for minutes in [-61, 0, 1, 30, 90, 1500] {
            let now = change + minutes.minutes();
            for timetable in [Timetable::CronDataInterval(cron.clone()), cron_trigger(cron)] {
                let earliest = Some(now - 24.hours() * 400);
                let restriction = Restriction { earliest, latest: None, catchup: false };
                let Ok(Some(run)) = timetable.next_run(None, &restriction, now) else { continue };
                let following = cron.next(run.run_after).unwrap();
                let is_latest = run.run_after > now || following > now;
                assert!(
                    is_latest || drifts(cron, &run, now),
                    "{timetable:?} at {now}: {run:?}, but {following}"
                );
            }
        }
    });
}

/// Airflow counts the hours of an expression that matches every hour in absolute time. If such an expression
/// names days, or the clocks move by a part of an hour, a change of the clocks moves it off its grid by as much
/// until it finds it again. This is the one case in which an older run may be asked for.
fn drifts(cron: &ZonedCron, run: &RunInfo, now: Timestamp) -> bool {
    let names_days = cron.expression().split_whitespace().skip(2).any(|column| column != "*");
    let since = cron.previous(run.data_interval.unwrap().start).unwrap();
    let change = cron.zone().next_change(since - 1.second()).filter(|(when, _)| *when <= now);
    let moves_grid = change.is_some_and(|(_, seconds)| names_days || seconds % 3600 != 0);
    moves_grid && cron.cron().is_every_hour()
}

fn clocks_change(zone: &Zone, from: Timestamp, to: Timestamp) -> bool {
    zone.next_change(from).is_some_and(|(when, _)| when <= to)
}

/// Calls with an expression in every zone, for every change of its clocks from 1970 to 2037. Each change gets
/// another expression out of a few hundred; names for the same zone are tried once.
fn for_every_change(check: impl Fn(&ZonedCron, Timestamp)) {
    let mut runner = TestRunner::deterministic();
    let mut expressions: Vec<String> = (0..400)
        .map(|_| five_columns().new_tree(&mut runner).unwrap().current())
        .filter(|expression| {
            let cron = Cron::parse(expression).unwrap();
            cron.next(DateTime::constant(1969, 1, 1, 0, 0, 0, 0)).is_some()
        })
        .collect();
    expressions
        .extend(["30 1 * * *", "30 2 * * *", "0 * * * *", "0 * * * 1", "0 0 * * *"].map(str::to_owned));
    let (first, last) = ("1970-01-01T00:00:00Z".parse().unwrap(), "2038-01-01T00:00:00Z".parse().unwrap());
    let (mut seen, mut changes) = (HashSet::new(), 0);
    for name in jiff::tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let all: Vec<_> = zone.following(first).take_while(|change| change.timestamp() < last).collect();
        let signature: Vec<_> = all.iter().map(|change| (change.timestamp(), change.offset())).collect();
        if !seen.insert((zone.to_offset(first), signature)) {
            continue;
        }
        let zone = Zone::named(name.as_str()).unwrap();
        for change in all {
            let cron = ZonedCron::new(&expressions[changes % expressions.len()], zone.clone()).unwrap();
            check(&cron, change.timestamp());
            changes += 1;
        }
    }
    assert!(changes > 10_000, "the time zone database has only {changes} changes of clocks");
}

fn cron_trigger(cron: &ZonedCron) -> Timetable {
    let (cron, interval) = (cron.clone(), Delta::Fixed(SignedDuration::ZERO));
    Timetable::CronTrigger(CronTrigger { cron, interval, run_immediately: RunImmediately::WithinATenth })
}

/// Any timetable that goes on without end.
fn timetable() -> impl Strategy<Value = Value> {
    let zone =
        prop::sample::select(vec!["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]);
    let relative = prop::sample::select(vec![
        json!({"months": 1}),
        json!({"years": 1, "day": 31}),
        json!({"days": 1, "hour": 6}),
        json!({"weeks": 2}),
    ]);
    let delta = prop_oneof![(1.0..1e7).prop_map(|seconds: f64| json!(seconds)), relative];
    let class = prop::sample::select(vec![
        "interval.CronDataInterval",
        "trigger.CronTrigger",
        "trigger.MultipleCronTrigger",
        "interval.DeltaDataInterval",
        "trigger.DeltaTrigger",
    ]);
    (class, expression(), expression(), zone, delta).prop_map(|(class, one, other, zone, delta)| {
        json!({"__type": format!("airflow.timetables.{class}Timetable"), "__var": {
            "expression": one, "expressions": [one, other], "timezone": zone, "delta": delta,
            "interval": 0.0, "run_immediately": false,
        }})
    })
}

/// An expression of five, six or seven columns that croniter accepts.
fn expression() -> impl Strategy<Value = String> {
    let second = column(0, 59, &[]);
    prop_oneof![
        8 => five_columns(),
        2 => (five_columns(), second.clone())
            .prop_filter("there is no 7 with six columns", |(five, _)| !five.ends_with('7'))
            .prop_map(|(five, second)| format!("{five} {second}")),
        1 => (five_columns(), second, prop_oneof![Just("*".to_owned()), column(1970, 2099, &[])])
            .prop_filter("there is no 7 with seven columns", |(five, _, _)| !five.ends_with('7'))
            .prop_map(|(five, second, year)| format!("{five} {second} {year}")),
    ]
}

fn five_columns() -> impl Strategy<Value = String> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "May", "jun", "jul", "aug", "sep", "oct", "NOV", "dec"];
    const WEEKDAYS: [&str; 7] = ["sun", "mon", "Tue", "wed", "thu", "FRI", "sat"];
    let star = || Just("*".to_owned());
    let day = prop_oneof![
        6 => star(),
        4 => column(1, 31, &[]),
        1 => (1..=31).prop_map(|day| format!("{day}w")),
        1 => Just("l".to_owned()),
        1 => Just("?".to_owned()),
    ];
    let weekday = prop_oneof![
        6 => star(),
        4 => column(0, 6, &WEEKDAYS),
        1 => (0..=6).prop_map(|day| format!("l{day}")),
        1 => (0..=6, 1..=5).prop_map(|(day, nth)| format!("{day}#{nth}")),
        1 => Just("7".to_owned()),
    ];
    let hour = prop_oneof![1 => star(), 3 => column(0, 23, &[])];
    let month = prop_oneof![3 => star(), 1 => column(1, 12, &MONTHS)];
    (column(0, 59, &[]), hour, day, month, weekday)
        .prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"))
}

/// A list of values, ranges (also backwards) and steps.
fn column(
    first: u32,
    last: u32,
    names: &'static [&'static str],
) -> impl Strategy<Value = String> + Clone + use<> {
    let value = (first..=last).prop_map(move |n| {
        let name = names.get((n - first) as usize).filter(|_| n % 2 == 0);
        name.map_or_else(|| n.to_string(), |name| (*name).to_owned())
    });
    let step = 1..=last - first;
    let item = prop_oneof![
        4 => value.clone(),
        2 => (value.clone(), value.clone()).prop_map(|(low, high)| format!("{low}-{high}")),
        1 => (value.clone(), value.clone(), step.clone()).prop_map(|(low, high, n)| format!("{low}-{high}/{n}")),
        1 => (value, step.clone()).prop_map(|(low, n)| format!("{low}/{n}")),
        1 => step.prop_map(|n| format!("*/{n}")),
    ];
    prop::collection::vec(item, 1..4).prop_map(|items| items.join(","))
}

fn civil_time() -> impl Strategy<Value = DateTime> {
    (1900_i16..2100, 1_i8..=12, 1_i8..=28, 0_i8..24, 0_i8..60, 0_i8..60, prop_oneof![Just(0), 0..1_000_000])
        .prop_map(|(year, month, day, hour, minute, second, micros)| {
            DateTime::constant(year, month, day, hour, minute, second, micros * 1000)
        })
}

fn instant() -> impl Strategy<Value = Timestamp> {
    civil_time().prop_map(|at| Zone::UTC.instant(at).unwrap())
}
