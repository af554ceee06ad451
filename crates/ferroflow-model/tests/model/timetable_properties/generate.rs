//! Random expressions, deltas, zones and times.

use ferroflow_model::timetable::Zone;
use jiff::Timestamp;
use jiff::civil::DateTime;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Why an expression is not tried: with more than five columns Sunday is no 7.
const NO_7: &str = "Sunday is 0";

/// An expression of five, six or seven columns that croniter accepts.
pub(crate) fn expression() -> impl Strategy<Value = String> {
    let minute_or_second = || column(0, 59, &[]);
    let five = || five_columns(minute_or_second());
    let six = (five(), minute_or_second())
        .prop_filter(NO_7, |(five, _)| !five.ends_with('7'))
        .prop_map(|(five, second)| format!("{five} {second}"));
    let year = prop_oneof![Just("*".to_owned()), column(1970, 2099, &[])];
    prop_oneof![
        8 => five(),
        2 => six.clone(),
        1 => (six, year).prop_map(|(six, year)| format!("{six} {year}")),
    ]
}

/// An expression without years, and with few minutes and seconds so that walks through its times stay short.
pub(crate) fn endless_expression() -> impl Strategy<Value = String> {
    let few = || prop::collection::vec(0..60_u8, 1..=2).prop_map(|values| listed(&values));
    let minute = || prop_oneof![4 => few(), 1 => (10..60).prop_map(|step| format!("*/{step}"))];
    let with_seconds = (five_columns(minute()), few())
        .prop_filter(NO_7, |(five, _)| !five.ends_with('7'))
        .prop_map(|(five, seconds)| format!("{five} {seconds}"));
    prop_oneof![4 => five_columns(minute()), 1 => with_seconds]
}

fn five_columns(minute: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> + Clone {
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
    (minute, hour, day, month, weekday)
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

/// A list of numbers as a column has it.
pub(crate) fn listed<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Any zone of the database, by any of its names.
pub(crate) fn zone_name() -> impl Strategy<Value = String> {
    prop::sample::select(jiff::tz::db().available().map(|name| name.to_string()).collect::<Vec<_>>())
}

/// Microseconds from a second to three years, short lengths as likely as long ones.
pub(crate) fn timedelta_micros() -> impl Strategy<Value = i64> {
    (0_u32..27, prop::bool::ANY, 0_i64..1_000_000).prop_flat_map(|(power, whole, micros)| {
        let seconds = 1_i64 << power;
        (seconds..2 * seconds).prop_map(move |n| n * 1_000_000 + if whole { 0 } else { micros })
    })
}

/// A `relativedelta` that leads forward from everywhere: it adds at least one unit, and sets only fields that
/// are smaller than this unit.
pub(crate) fn relative_delta() -> impl Strategy<Value = Value> {
    const UNITS: [(&str, i64); 6] =
        [("years", 3), ("months", 30), ("weeks", 9), ("days", 99), ("hours", 99), ("minutes", 999)];
    /// A field, its values, and how many of the units above are greater than it.
    const FIELDS: [(&str, i64, i64, usize); 5] = [
        ("month", 1, 12, 1),
        ("day", 1, 31, 2),
        ("hour", 0, 23, 4),
        ("minute", 0, 59, 5),
        ("second", 0, 59, 6),
    ];
    let chosen = prop::collection::vec(prop::option::weighted(0.3, 0_i64..1000), UNITS.len());
    let set = prop::collection::vec(prop::option::weighted(0.3, 0_i64..1000), FIELDS.len());
    let weekday = prop::option::weighted(0.2, (0..7, 1..3));
    (0..UNITS.len(), chosen, set, weekday).prop_map(|(greatest, chosen, set, weekday)| {
        let mut delta = Map::new();
        for (n, ((unit, most), amount)) in UNITS.iter().zip(chosen).enumerate().skip(greatest) {
            let amount = amount.or_else(|| (n == greatest).then_some(0));
            delta.extend(amount.map(|amount| ((*unit).to_owned(), json!(1 + amount % most))));
        }
        for ((field, first, last, greater), value) in FIELDS.iter().zip(set) {
            let value = value.filter(|_| greatest < *greater).map(|value| first + value % (last - first + 1));
            delta.extend(value.map(|value| ((*field).to_owned(), json!(value))));
        }
        // The nth weekday is searched forwards, so the step still leads on.
        if let Some((day, nth)) = weekday {
            delta.insert("weekday".to_owned(), json!([day, nth]));
        }
        Value::Object(delta)
    })
}

pub(crate) fn civil_time() -> impl Strategy<Value = DateTime> {
    (1900_i16..2100, 1_i8..=12, 1_i8..=28, 0_i8..24, 0_i8..60, 0_i8..60, prop_oneof![Just(0), 0..1_000_000])
        .prop_map(|(year, month, day, hour, minute, second, micros)| {
            DateTime::constant(year, month, day, hour, minute, second, micros * 1000)
        })
}

pub(crate) fn instant() -> impl Strategy<Value = Timestamp> {
    civil_time().prop_map(|at| Zone::UTC.instant(at).unwrap())
}
