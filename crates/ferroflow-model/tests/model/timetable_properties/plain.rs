//! Expressions of plain lists, whose matches can be found by trying every day: what `Cron` answers is compared
//! with that. Bounded work follows from the reach of 50 calendar years that is pinned here: a search looks at one
//! month after the other, each at most once, and ends when the year is more than 50 away; so it looks at no more
//! than 51 * 12 months, whatever the expression says.

use ferroflow_model::timetable::cron::Cron;
use jiff::civil::{Date, DateTime, Time, time};
use jiff::{SignedDuration, ToSpan as _};
use proptest::collection::btree_set;
use proptest::prelude::*;

use crate::timetable_properties::generate::{civil_time, listed};

/// How many calendar years croniter looks ahead and back.
const REACH: i16 = 50;

/// An expression as the lists that it is made of; `None` is `*`, or no such column.
#[derive(Clone, Debug)]
struct Plain {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    days: Option<Vec<i8>>,
    months: Option<Vec<i8>>,
    weekdays: Option<Vec<i8>>,
    seconds: Option<Vec<i8>>,
    years: Option<Vec<i16>>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn matches_are_those_that_a_search_of_every_day_finds(plain in plain(), start in civil_time()) {
        let cron = Cron::parse(&plain.text()).unwrap();
        prop_assert_eq!(cron.next(start), plain.next(start), "{}", plain.text());
        prop_assert_eq!(cron.previous(start), plain.previous(start), "{}", plain.text());
        // A match itself is neither its own next nor its own previous one.
        if let Some(found) = plain.next(start) {
            prop_assert_eq!(cron.next(found), plain.next(found), "{}", plain.text());
            prop_assert_eq!(cron.previous(found), plain.previous(found), "{}", plain.text());
        }
    }
}

#[test]
fn a_search_reaches_the_fiftieth_year_and_not_the_next() {
    for (expression, there, start, beyond) in [
        ("0 0 1 1 * 0 2050", "2050-01-01T00:00:00", "2000-01-01T00:00:00", "1999-12-31T23:59:58"),
        ("59 23 31 12 * 59 2050", "2050-12-31T23:59:59", "2000-06-01T12:00:00", "1999-06-01T12:00:00"),
        ("* * * * * * 2050", "2050-01-01T00:00:00", "2000-12-31T23:59:58", "1999-12-31T00:00:00"),
        ("0 0 29 2 * 0 2044", "2044-02-29T00:00:00", "1994-03-01T00:00:00", "1993-03-01T00:00:00"),
    ] {
        let cron = Cron::parse(expression).unwrap();
        assert_eq!(cron.next(start.parse().unwrap()), Some(there.parse().unwrap()), "{expression}");
        assert_eq!(cron.next(beyond.parse().unwrap()), None, "{expression} is 51 years ahead of {beyond}");
    }
    for (expression, there, start, beyond) in [
        ("0 0 1 1 * 0 1980", "1980-01-01T00:00:00", "2030-12-31T23:59:59", "2031-01-01T00:00:00.1"),
        ("59 23 31 12 * 59 1980", "1980-12-31T23:59:59", "2030-06-01T12:00:00", "2031-06-01T12:00:00"),
        ("* * * * * * 1980", "1980-12-31T23:59:59", "2031-01-01T00:00:00", "2031-12-31T00:00:00"),
        ("0 0 29 2 * 0 1984", "1984-02-29T00:00:00", "2034-01-01T00:00:01", "2035-01-01T00:00:01"),
    ] {
        let cron = Cron::parse(expression).unwrap();
        assert_eq!(cron.previous(start.parse().unwrap()), Some(there.parse().unwrap()), "{expression}");
        assert_eq!(cron.previous(beyond.parse().unwrap()), None, "{expression} is 51 years before {beyond}");
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

/// Lists that are never complete: a complete one would be a `*`.
fn plain() -> impl Strategy<Value = Plain> {
    let list = |first: i8, last: i8, most: usize| {
        btree_set(first..=last, 1..=most).prop_map(|set| set.into_iter().collect::<Vec<_>>())
    };
    let years = btree_set(1970_i16..=2099, 1..=3).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    let seconds = prop::option::weighted(0.4, (list(0, 59, 4), prop::option::weighted(0.5, years)));
    (
        list(0, 59, 4),
        list(0, 23, 4),
        prop::option::of(list(1, 31, 3)),
        prop::option::of(list(1, 12, 3)),
        prop::option::of(list(0, 6, 3)),
        seconds,
    )
        .prop_map(|(minutes, hours, days, months, weekdays, seconds)| {
            let (seconds, years) = seconds.map_or((None, None), |(seconds, years)| (Some(seconds), years));
            Plain { minutes, hours, days, months, weekdays, seconds, years }
        })
}

impl Plain {
    fn text(&self) -> String {
        let list = |values: &Option<Vec<i8>>| values.as_deref().map_or("*".to_owned(), listed);
        let (days, months, weekdays) = (list(&self.days), list(&self.months), list(&self.weekdays));
        let five = format!("{} {} {days} {months} {weekdays}", listed(&self.minutes), listed(&self.hours));
        match (&self.seconds, &self.years) {
            (Some(seconds), Some(years)) => format!("{five} {} {}", listed(seconds), listed(years)),
            (Some(seconds), None) => format!("{five} {}", listed(seconds)),
            (None, _) => five,
        }
    }

    fn next(&self, after: DateTime) -> Option<DateTime> {
        let unit = SignedDuration::from_secs(if self.seconds.is_some() { 1 } else { 60 });
        let last = (after + unit).year() + REACH;
        let found = self.both_searches(|is_day| {
            (after.year()..=last).find_map(|year| self.matches(year, is_day).find(|at| *at > after))
        });
        found.into_iter().min()
    }

    fn previous(&self, before: DateTime) -> Option<DateTime> {
        let first = (before - 1.nanosecond()).year() - REACH;
        let found = self.both_searches(|is_day| {
            let mut years = (first..=before.year()).rev();
            years.find_map(|year| self.matches(year, is_day).take_while(|at| *at < before).last())
        });
        found.into_iter().max()
    }

    /// What a search finds. If both days and weekdays are listed there are two, and if one of them finds nothing
    /// neither counts.
    fn both_searches(&self, search: impl Fn(&dyn Fn(Date) -> bool) -> Option<DateTime>) -> Vec<DateTime> {
        let is_day = |date: Date| self.days.as_ref().is_none_or(|days| days.contains(&date.day()));
        let is_weekday = |date: Date| {
            let weekday = date.weekday().to_sunday_zero_offset();
            self.weekdays.as_ref().is_none_or(|weekdays| weekdays.contains(&weekday))
        };
        let found = if self.days.is_some() && self.weekdays.is_some() {
            vec![search(&is_day), search(&is_weekday)]
        } else {
            vec![search(&|date| is_day(date) && is_weekday(date))]
        };
        found.into_iter().collect::<Option<_>>().unwrap_or_default()
    }

    /// All matches of a year, in their order.
    fn matches(&self, year: i16, is_day: &dyn Fn(Date) -> bool) -> impl Iterator<Item = DateTime> {
        let has_year = self.years.as_ref().is_none_or(|years| years.contains(&year));
        let has_month = |month: &i8| self.months.as_ref().is_none_or(|months| months.contains(month));
        let months = (1..=12).filter(move |month| has_year && has_month(month));
        let days =
            months.flat_map(move |month| (1..=31).filter_map(move |day| Date::new(year, month, day).ok()));
        let days = days.filter(move |day| is_day(*day));
        days.flat_map(|day| self.times().map(move |time| day.to_datetime(time)))
    }

    fn times(&self) -> impl Iterator<Item = Time> {
        let seconds = self.seconds.as_deref().unwrap_or(&[0]);
        let minutes = self.hours.iter().flat_map(|hour| self.minutes.iter().map(|minute| (*hour, *minute)));
        minutes.flat_map(|(hour, minute)| seconds.iter().map(move |second| time(hour, minute, *second, 0)))
    }
}
