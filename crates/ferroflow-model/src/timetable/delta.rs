//! The step of a schedule: a fixed length of time, or one in terms of the calendar.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::fmt::temporal::SpanParser;
use jiff::tz::Offset;
use jiff::{SignedDuration, Span, Timestamp};

use super::relative_delta::RelativeDelta;
use super::timedelta;
use crate::document::{Reader, Value};

/// What Airflow's delta schedules step by and what data intervals are long.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Python's `timedelta`: a length of time in whole microseconds.
    Fixed(SignedDuration),
    /// dateutil's `relativedelta`: calendar units, and fields of the date that are set.
    Relative(RelativeDelta),
}

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an ISO 8601 duration such as P1D, PT1H30M or P1M: {reason}")]
pub struct InvalidDuration {
    text: String,
    reason: String,
}

impl Delta {
    /// A delta of a serialized timetable: a number of seconds, or an object for a `relativedelta`.
    pub(crate) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        match value {
            Value::Object(_) => RelativeDelta::read(reader, value).map(Self::Relative),
            Value::Int(_) | Value::Float(_) => reader.seconds(value).map(Self::Fixed),
            other => {
                reader.expected("a number of seconds or an object", other);
                None
            }
        }
    }

    /// The instant one step later; `None` where Python raises: outside the years 1 to 9999, or if a field that
    /// is set makes no date.
    pub(crate) fn after(&self, instant: Timestamp) -> Option<Timestamp> {
        let instant = python_datetime(instant)?;
        let later = match self {
            Self::Fixed(duration) => timedelta::add(instant, microseconds(*duration)?)?,
            Self::Relative(delta) => delta.added_to(instant)?,
        };
        Offset::UTC.to_timestamp(later).ok()
    }

    /// The instant one step earlier; `None` where Python raises. Fields that are set are set here too, not
    /// undone: `before` is not the inverse of [`after`](Self::after).
    pub(crate) fn before(&self, instant: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Fixed(duration) => Self::Fixed(duration.checked_neg()?).after(instant),
            Self::Relative(delta) => Self::Relative(delta.negated()).after(instant),
        }
    }

    /// How long it is in seconds, with years of 365 and months of 30 days, and without the microseconds of a
    /// relative delta: what Airflow rounds instants down to.
    pub(crate) fn approximate_seconds(&self) -> f64 {
        match self {
            Self::Fixed(duration) => {
                microseconds(*duration).map_or_else(|| duration.as_secs_f64(), timedelta::total_seconds)
            }
            Self::Relative(delta) => delta.approximate_seconds(),
        }
    }

    /// Whether its length depends on the calendar.
    pub(crate) fn has_months_or_years(&self) -> bool {
        matches!(self, Self::Relative(delta) if delta.has_months_or_years())
    }
}

/// Python's `str(delta)`, which is the summary of such a timetable.
impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(duration) => timedelta::write(f, duration.as_micros()),
            Self::Relative(delta) => delta.fmt(f),
        }
    }
}

/// An ISO 8601 duration. With years or months it is relative, otherwise fixed.
impl FromStr for Delta {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        let invalid = |reason: String| InvalidDuration { text: text.to_owned(), reason };
        let span = SpanParser::new().parse_span(text).map_err(|error| invalid(error.to_string()))?;
        if span.get_nanoseconds() != 0 {
            return Err(invalid("it has parts of a microsecond".to_owned()));
        }
        let time = without_calendar(&span).map_err(|error| invalid(error.to_string()))?;
        if span.get_years() == 0 && span.get_months() == 0 {
            return Ok(Self::Fixed(time));
        }
        let months = i64::from(span.get_years()) * 12 + i64::from(span.get_months());
        Ok(Self::Relative(RelativeDelta::of_months_and_time(months, time)))
    }
}

/// What Python's `datetime` knows of an instant: microseconds, from the year 1 on.
fn python_datetime(instant: Timestamp) -> Option<DateTime> {
    let instant = Timestamp::from_microsecond(instant.as_microsecond()).ok()?;
    let instant = Offset::UTC.to_datetime(instant);
    (instant.year() >= 1).then_some(instant)
}

fn microseconds(duration: SignedDuration) -> Option<i64> {
    i64::try_from(duration.as_micros()).ok()
}

/// Weeks, days and smaller units of a span as time: a day has 24 hours here, as in Python.
fn without_calendar(span: &Span) -> Result<SignedDuration, jiff::Error> {
    let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
    let time = span.years(0).months(0).weeks(0).days(0);
    Ok(SignedDuration::try_from(time)? + SignedDuration::from_hours(days * 24))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::decode;

    /// Delta, instant, instant + delta, instant - delta: as pendulum and dateutil have them.
    const STEPS: &str = r#"
        {"months": 1} | 2024-01-31 | 2024-02-29 | 2023-12-31
        {"months": 1} | 2024-03-31 | 2024-04-30 | 2024-02-29
        {"years": 1} | 2024-02-29T12:00:00 | 2025-02-28T12:00:00 | 2023-02-28T12:00:00
        {"months": 14, "hours": 25, "minutes": -90} | 2024-02-29T12:00:00 | 2025-04-30T11:30:00 | 2022-12-28T12:30:00
        {"months": 1, "day": 1, "hour": 0, "minute": 0} | 2024-06-15T13:30:00 | 2024-07-01 | 2024-05-01
        {"day": 31} | 2024-06-15T13:30:00 | 2024-06-30T13:30:00 | 2024-06-30T13:30:00
        {"months": 1, "day": 1, "weekday": [0, 2]} | 2024-06-15T13:30:00 | 2024-07-08T13:30:00 | 2024-05-13T13:30:00
        {"weekday": [4]} | 2024-06-15T13:30:00 | 2024-06-21T13:30:00 | 2024-06-21T13:30:00
        {"weekday": [5, -1]} | 2024-06-15T13:30:00 | 2024-06-15T13:30:00 | 2024-06-15T13:30:00
        {"weekday": [-1, 0]} | 2024-06-15T13:30:00 | 2024-06-16T13:30:00 | 2024-06-16T13:30:00
        {"yearday": 260} | 2023-06-15 | 2023-09-17 | 2023-09-17
        {"yearday": 260} | 2024-06-15 | 2024-09-16 | 2024-09-16
        {"nlyearday": 260} | 2024-06-15 | 2024-09-17 | 2024-09-17
        {"leapdays": -1, "years": 4} | 2024-06-15 | 2028-06-14 | 2020-06-14
        {"days": 1.5, "weeks": 1} | 2024-06-15 | 2024-06-23T12:00:00 | 2024-06-06T12:00:00
        {"microseconds": 2.5} | 2024-06-15 | 2024-06-15T00:00:00.000002 | 2024-06-14T23:59:59.999998
        {"microseconds": 3.5} | 2024-06-15 | 2024-06-15T00:00:00.000004 | 2024-06-14T23:59:59.999996
        {"seconds": 1234567.25} | 2024-06-15 | 2024-06-29T06:56:07.25 | 2024-05-31T17:03:52.75
        {"days": 1234565} | 2024-06-15 | 5404-07-31 | none
        {"year": 0, "month": 0, "day": 0, "microsecond": 7} | 2024-06-15 | 2024-06-15T00:00:00.000007 | 2024-06-15T00:00:00.000007
        {"month": 13, "months": 1} | 2024-06-15 | 2025-02-15 | 2024-12-15
        {"month": 13} | 2024-06-15 | none | none
        {"hour": 24} | 2024-06-15 | none | none
        {"day": -1} | 2024-06-15 | none | none
        {"years": -2023} | 2024-06-15 | 0001-06-15 | 4047-06-15
        {"years": -2024} | 2024-06-15 | none | 4048-06-15
        -1e-06 | 0001-01-01 | none | 0001-01-01T00:00:00.000001
        86400 | 2024-06-15 | 2024-06-16 | 2024-06-14
        93784.5 | 2024-06-15 | 2024-06-16T02:03:04.5 | 2024-06-13T21:56:55.5
        -3600 | 2024-06-15 | 2024-06-14T23:00:00 | 2024-06-15T01:00:00
        -172800.000001 | 2024-06-15 | 2024-06-12T23:59:59.999999 | 2024-06-17T00:00:00.000001
        1.5e-06 | 2024-06-15 | 2024-06-15T00:00:00.000002 | 2024-06-14T23:59:59.999998
        2.5e-06 | 2024-06-15 | 2024-06-15T00:00:00.000002 | 2024-06-14T23:59:59.999998
        0.0 | 2024-06-15 | 2024-06-15 | 2024-06-15
        {"days": 347222, "microseconds": 1} | 2024-06-15 | 2975-02-12 | 1073-10-17
    "#;

    /// Delta, `str(delta)`.
    const TEXTS: &str = r#"
        {"months": 1} | relativedelta(months=+1)
        {"years": 1} | relativedelta(years=+1)
        {"months": 14, "hours": 25, "minutes": -90} | relativedelta(years=+1, months=+2, days=+1, minutes=-30)
        {"months": 1, "day": 1, "hour": 0, "minute": 0} | relativedelta(months=+1, day=1, hour=0, minute=0)
        {"day": 31} | relativedelta(day=31)
        {"months": 1, "day": 1, "weekday": [0, 2]} | relativedelta(months=+1, day=1, weekday=MO(+2))
        {"weekday": [4]} | relativedelta(weekday=FR)
        {"weekday": [5, -1]} | relativedelta(weekday=SA(-1))
        {"weekday": [-1, 0]} | relativedelta(weekday=SU)
        {"yearday": 260} | relativedelta(leapdays=-1, month=9, day=17)
        {"nlyearday": 260} | relativedelta(month=9, day=17)
        {"leapdays": -1, "years": 4} | relativedelta(years=+4, leapdays=-1)
        {"days": 1.5, "weeks": 1} | relativedelta(days=+8.5)
        {"microseconds": 2.5} | relativedelta(microseconds=+2.5)
        {"microseconds": 3.5} | relativedelta(microseconds=+3.5)
        {"seconds": 1234567.25} | relativedelta(days=+14, hours=+6, minutes=+56, seconds=+7.25)
        {"days": 1234565} | relativedelta(days=+1.23456e+06)
        {"year": 0, "month": 0, "day": 0, "microsecond": 7} | relativedelta(year=0, month=0, day=0, microsecond=7)
        {"month": 13, "months": 1} | relativedelta(months=+1, month=13)
        {"month": 13} | relativedelta(month=13)
        {"hour": 24} | relativedelta(hour=24)
        {"day": -1} | relativedelta(day=-1)
        {"years": -2023} | relativedelta(years=-2023)
        {"years": -2024} | relativedelta(years=-2024)
        -1e-06 | -1 day, 23:59:59.999999
        86400 | 1 day, 0:00:00
        93784.5 | 1 day, 2:03:04.500000
        -3600 | -1 day, 23:00:00
        -172800.000001 | -3 days, 23:59:59.999999
        1.5e-06 | 0:00:00.000002
        2.5e-06 | 0:00:00.000002
        0.0 | 0:00:00
        {"days": 347222, "microseconds": 1} | relativedelta(days=+347222, microseconds=+1)
    "#;

    fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
        let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(|line| line.split(" | ").collect::<Vec<_>>().try_into().unwrap())
    }

    fn delta(text: &str) -> Delta {
        decode(text, Delta::read).unwrap()
    }

    #[test]
    fn steps_are_python_s() {
        let written = |instant: Option<Timestamp>| {
            let text = instant.map(|instant| Offset::UTC.to_datetime(instant).to_string());
            text.map_or("none".to_owned(), |text| text.trim_end_matches("T00:00:00").to_owned())
        };
        for [text, instant, after, before] in rows(STEPS) {
            let instant = Offset::UTC.to_timestamp(instant.parse().unwrap()).unwrap();
            let delta = delta(text);
            assert_eq!(written(delta.after(instant)), after, "{text} after {instant}");
            assert_eq!(written(delta.before(instant)), before, "{text} before {instant}");
        }
    }

    #[test]
    fn texts_are_python_s() {
        for [text, expected] in rows(TEXTS) {
            assert_eq!(delta(text).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_delta_is_a_problem_with_its_place() {
        for (text, problem) in [
            ("null", "document: expected a number of seconds or an object, found null"),
            ("1e300", "document: 1000"),
            (r#"{"years": 1.5}"#, "years: expected an integer, found a float"),
            (r#"{"months": null}"#, "months: expected an integer, found null"),
            (r#"{"hours": "1"}"#, "hours: expected a number, found a string"),
            (r#"{"hour": 1.5}"#, "hour: expected an integer, found a float"),
            (r#"{"yearday": 367}"#, "document: 367 is not a day of the year"),
            (r#"{"weekday": 3}"#, "weekday: expected a list, found an integer"),
            (r#"{"weekday": []}"#, "weekday: expected a weekday and which of them, found 0 values"),
            (r#"{"weekday": [7]}"#, "weekday[0]: 7 is not a weekday: Monday is 0, Sunday is 6"),
            (r#"{"weekday": [0, "1"]}"#, "weekday[1]: expected an integer, found a string"),
            (r#"{"fortnights": 1}"#, "fortnights: is not a field of a relativedelta"),
        ] {
            let problems = decode(text, Delta::read).unwrap_err().to_string();
            assert!(problems.starts_with(problem), "{text}: {problems}");
        }
        let problems = decode(r#"{"years": 0.5, "days": [], "year": {}}"#, Delta::read).unwrap_err();
        assert_eq!(problems.list().len(), 3, "every problem is found: {problems}");
    }

    #[test]
    fn null_fields_are_not_there() {
        let delta = delta(r#"{"leapdays": null, "yearday": null, "hour": null, "weekday": [0, null]}"#);
        assert_eq!(delta.to_string(), "relativedelta(weekday=MO)");
    }

    #[test]
    fn lengths_are_approximate() {
        for (text, seconds, calendar) in [
            ("90.5", 90.5, false),
            (r#"{"years": 1, "months": -13}"#, -30.0 * 86_400.0, true),
            (r#"{"months": 12, "days": 1.5, "microseconds": 5}"#, 366.5 * 86_400.0, true),
            (r#"{"hours": 1, "minutes": 2, "seconds": 3}"#, 3723.0, false),
            (r#"{"day": 1, "hour": 2}"#, 0.0, false),
        ] {
            let delta = delta(text);
            assert_eq!(delta.approximate_seconds().to_string(), seconds.to_string(), "{text}");
            assert_eq!(delta.has_months_or_years(), calendar, "{text}");
        }
    }

    #[test]
    fn an_iso_duration_is_relative_if_the_calendar_matters() {
        for (text, expected) in [
            ("P1D", "1 day, 0:00:00"),
            ("P2W", "14 days, 0:00:00"),
            ("PT1H30M", "1:30:00"),
            ("PT0.000001S", "0:00:00.000001"),
            ("-PT1H", "-1 day, 23:00:00"),
            ("P1M", "relativedelta(months=+1)"),
            ("P1Y2M3DT4H", "relativedelta(years=+1, months=+2, days=+3, hours=+4)"),
            ("-P14MT1.5S", "relativedelta(years=-1, months=-2, seconds=-1, microseconds=-500000)"),
        ] {
            assert_eq!(text.parse::<Delta>().unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "P", "1 day", "PT", "P1X", "P99999999Y", "PT0.0000001S"] {
            let error = text.parse::<Delta>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not an ISO 8601 duration")), "{error}");
        }
    }
}
