//! Days of the month, days of the week and months in words. Each begins with a comma, since a time stands before.

use super::number;
use super::phrase::{Wording, enumeration, phrase};
use crate::timetable::calendar_names::{MONTHS, WEEKDAYS};

/// The days of the month, or nothing if those of the week say it all. `L` and `W` are known as capitals only,
/// though croniter takes either.
pub(super) fn day_of_month(day: &str, weekday: &str) -> Option<String> {
    if day == "L" {
        return Some(", on the last day of the month".to_owned());
    }
    if let Some(near) = nearest_weekday(day) {
        return Some(match near {
            1 => ", on the first weekday of the month".to_owned(),
            day => format!(", on the weekday nearest day {day} of the month"),
        });
    }
    if day == "*" && weekday != "*" {
        return Some(String::new());
    }
    phrase(day, &DaysOfMonth)
}

/// The 15 of `15W` or `W15`. Only two digits are looked at: `W015` is the first, and `015W` is none of these.
fn nearest_weekday(day: &str) -> Option<u64> {
    if let Some(digits) = day.strip_suffix('W') {
        return number(digits).filter(|_| digits.len() <= 2);
    }
    let digits = day.strip_prefix('W')?;
    number(digits.get(..2).unwrap_or(digits))
}

struct DaysOfMonth;

impl Wording for DaysOfMonth {
    const EVERY: &'static str = ", every day";

    fn item(&self, value: &str) -> Option<String> {
        Some(value.to_owned())
    }

    fn step(&self, step: &str) -> String {
        if step == "1" { Self::EVERY.to_owned() } else { format!(", every {step} days") }
    }

    fn between(&self, from: &str, to: &str) -> String {
        format!(", between day {from} and {to} of the month")
    }

    fn only(&self, _field: &str, words: &str) -> String {
        format!(", on day {words} of the month")
    }
}

/// The days of the week, or None if there is one that is none. Nothing for `*`: the days of the month tell it.
pub(super) fn weekdays(field: &str) -> Option<String> {
    if let Some((days, step)) = field.split_once('/')
        && let Some(weeks) = number(step)
    {
        if days.contains(',') {
            let days = enumeration(days, &Weekdays)?;
            return Some(format!(", every {step} weeks, only on {days}"));
        }
        if let Some((first, last)) = days.split_once('-')
            && at_most_one(number(first)?, number(last)?, weeks)
        {
            return Some(format!(", every {step} weeks{}", start_of(first, last, days)?));
        }
    }
    phrase(field, &Weekdays)
}

/// Whether the step leads out of the range at once, which is taken to mean weeks. A last day of 0 is a Sunday that
/// was 7; any other range that turns back has no length.
fn at_most_one(first: u64, last: u64, step: u64) -> bool {
    let last = if last == 0 { 7 } else { last };
    step >= (last + 1).saturating_sub(first)
}

/// A range to Saturday is taken for one day, since `5/2` has become `5-6/2`.
fn start_of(first: &str, last: &str, range: &str) -> Option<String> {
    if number(last) == Some(6) {
        return Some(format!(", only on {}", Weekdays.item(first)?));
    }
    phrase(range, &Weekdays)
}

struct Weekdays;

impl Wording for Weekdays {
    const EVERY: &'static str = "";

    fn item(&self, value: &str) -> Option<String> {
        let day = match value.split_once('#') {
            Some((day, _)) => day,
            None => value.trim_start_matches('L'),
        };
        name(&WEEKDAYS, number(day)?)
    }

    fn step(&self, step: &str) -> String {
        format!(", every {step} days of the week")
    }

    fn between(&self, from: &str, to: &str) -> String {
        format!(", {from} through {to}")
    }

    /// In a list of several `#` the weeks are lost, and two spaces left where they were.
    fn only(&self, field: &str, words: &str) -> String {
        if let Some((_, week)) = field.split_once('#') {
            return format!(", on the {} {words} of the month", ordinal(week));
        }
        if field.contains('L') {
            return format!(", on the last {words} of the month");
        }
        format!(", only on {words}")
    }
}

fn ordinal(week: &str) -> &'static str {
    match number(week) {
        Some(1) => "first",
        Some(2) => "second",
        Some(3) => "third",
        Some(4) => "fourth",
        Some(5) => "fifth",
        _ => "",
    }
}

/// The months, or None if there is one that is none.
pub(super) fn months(field: &str) -> Option<String> {
    phrase(field, &Months)
}

struct Months;

impl Wording for Months {
    const EVERY: &'static str = "";

    fn item(&self, value: &str) -> Option<String> {
        name(&MONTHS, number(value)?.checked_sub(1)?)
    }

    fn step(&self, step: &str) -> String {
        format!(", every {step} months")
    }

    fn between(&self, from: &str, to: &str) -> String {
        format!(", {from} through {to}")
    }

    fn only(&self, _field: &str, words: &str) -> String {
        format!(", only in {words}")
    }
}

fn name(names: &[&str], index: u64) -> Option<String> {
    names.get(usize::try_from(index).ok()?).map(|name| (*name).to_owned())
}
