//! dateutil's `relativedelta`: a step in terms of the calendar.

mod read;
mod step;
mod text;

/// dateutil's `relativedelta`: amounts to add, and fields of the date to set.
///
/// Amounts are normalised when it is made: 25 hours are a day and an hour, 14 months a year and two months.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelativeDelta {
    years: i64,
    months: i64,
    days: f64,
    leapdays: f64,
    hours: f64,
    minutes: f64,
    seconds: f64,
    microseconds: f64,
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    weekday: Option<Weekday>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    microsecond: Option<i64>,
}

/// The nth Monday, say, from a date on; counted backwards if negative.
#[derive(Clone, Debug, PartialEq)]
struct Weekday {
    /// 0 is Monday.
    day: i64,
    /// 0 is the first too, but is not written.
    nth: i64,
}
