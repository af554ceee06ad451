//! Every zone of the database, around every change of its clocks.

use std::collections::HashSet;

use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{Zone, ZonedCron};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::timetable_properties::generate::endless_expression;
use crate::timetable_properties::tally::Tally;

/// A change of the clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) at: Timestamp,
    /// By how much they move forward.
    pub(crate) seconds: i32,
}

#[test]
fn around_every_change_of_clocks_next_lies_ahead() {
    for_every_change(|cron, change| {
        let mut at = change.at - 2.hours();
        let end = at + 30.hours();
        for _ in 0..4 {
            let next = cron.next(at).unwrap();
            let what = format!("{} in {}: {at} is followed by {next}", cron.expression(), cron.zone());
            assert!(next > at, "{what}");
            check_rule(cron, at, next, &what);
            at = if next < end { next } else { at + 37.minutes() };
        }
    });
}

/// Every hour is counted in absolute time; otherwise the clocks show the match, for the second time if they show
/// it twice, or it is skipped and moves forward by as much as the clocks.
fn check_rule(cron: &ZonedCron, at: Timestamp, next: Timestamp, what: &str) {
    let zone = cron.zone();
    let wanted = cron.cron().next(zone.wall(at)).unwrap();
    let shown = zone.wall(next);
    if cron.cron().is_every_hour() {
        assert_eq!(next.duration_since(at), wanted.duration_since(zone.wall(at)), "{what}");
    } else if shown == wanted {
        let again = zone.next_change(next).filter(|(when, _)| *when <= next + 25.hours());
        if let Some((_, seconds)) = again {
            let back = SignedDuration::from_secs(i64::from(-seconds));
            assert!(seconds > 0 || zone.wall(next + back) != wanted, "{what}, shown twice");
        }
    } else {
        let moved = shown.duration_since(wanted);
        let (when, seconds) = zone.next_change(next - moved - 1.second()).unwrap();
        assert!(when <= next && moved == SignedDuration::from_secs(i64::from(seconds)), "{what}, skipped");
    }
}

#[test]
fn away_from_changes_of_clocks_next_and_previous_agree() {
    let tally = Tally::default();
    for_every_change(|cron, change| {
        let at = change.at + 49.hours();
        let (previous, next) = (cron.previous(at).unwrap(), cron.next(at).unwrap());
        if is_near_change(cron, &[previous, at, next]) {
            tally.passed_over("the clocks change");
            return;
        }
        let what = format!("{} in {} at {at}", cron.expression(), cron.zone());
        assert!(previous < at, "{what}: {previous}");
        assert!(cron.previous(next).unwrap() <= at, "{what}: {next}");
        assert!(cron.next(previous).unwrap() >= at, "{what}: {previous}");
        assert_eq!(cron.next(cron.previous(next).unwrap()).unwrap(), next, "{what}");
        assert_eq!(cron.previous(cron.next(previous).unwrap()).unwrap(), previous, "{what}");
        tally.checked();
    });
    tally.check(10_000, &[("the clocks change", 250)]);
}

/// Whether the clocks change so near to one of the instants that they show it twice or skip what they would have
/// shown; for an expression that matches every hour, which is counted in absolute time, also between them.
fn is_near_change(cron: &ZonedCron, instants: &[Timestamp]) -> bool {
    let (first, last) = (*instants.iter().min().unwrap(), *instants.iter().max().unwrap());
    let between = |(when, _)| when <= last;
    instants.iter().any(|at| skips_or_repeats(cron.zone(), *at))
        || cron.cron().is_every_hour() && cron.zone().next_change(first).is_some_and(between)
}

/// Whether the clocks change no further from an instant than they move.
pub(crate) fn skips_or_repeats(zone: &Zone, at: Timestamp) -> bool {
    let mut from = at - 25.hours();
    while let Some((when, seconds)) = zone.next_change(from).filter(|(when, _)| *when <= at + 25.hours()) {
        if when.duration_since(at).abs() <= SignedDuration::from_secs(i64::from(seconds.abs())) {
            return true;
        }
        from = when;
    }
    false
}

/// Calls with an expression in every zone, for every change of its clocks from 1970 to 2037. Each change gets
/// another expression out of a few hundred; names for the same zone are tried once.
pub(crate) fn for_every_change(mut check: impl FnMut(&ZonedCron, &Change)) {
    let expressions = expressions();
    let (first, last) = ("1970-01-01T00:00:00Z".parse().unwrap(), "2038-01-01T00:00:00Z".parse().unwrap());
    let (mut seen, mut changes) = (HashSet::new(), 0);
    for name in jiff::tz::db().available() {
        let zone = TimeZone::get(name.as_str()).unwrap();
        let all: Vec<_> = zone.following(first).take_while(|change| change.timestamp() < last).collect();
        let signature: Vec<_> = all.iter().map(|change| (change.timestamp(), change.offset())).collect();
        if !seen.insert((zone.to_offset(first), signature)) {
            continue;
        }
        let mut offset = zone.to_offset(first).seconds();
        let zone = Zone::named(name.as_str()).unwrap();
        for change in all {
            let cron = ZonedCron::new(&expressions[changes % expressions.len()], zone.clone()).unwrap();
            let seconds = change.offset().seconds() - offset;
            check(&cron, &Change { at: change.timestamp(), seconds });
            offset = change.offset().seconds();
            changes += 1;
        }
    }
    assert!(changes > 10_000, "the time zone database has only {changes} changes of clocks");
}

/// Expressions that match often enough to be walked, and never cease to.
fn expressions() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let often = |expression: &String| {
        let cron = Cron::parse(expression).unwrap();
        let mut at = Some(DateTime::constant(1900, 1, 1, 0, 0, 0, 0));
        for _ in 0..12 {
            at = at.and_then(|at| cron.next(at));
        }
        at.is_some_and(|at| at.year() < 1955)
    };
    let random = std::iter::repeat_with(|| endless_expression().new_tree(&mut runner).unwrap().current());
    let known = ["30 1 * * *", "30 2 * * *", "0 * * * *", "0 * * * 1", "0 0 * * *"].map(str::to_owned);
    random.filter(often).take(396).chain(known).collect()
}
