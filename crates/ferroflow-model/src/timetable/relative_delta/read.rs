//! A `relativedelta` as Airflow serializes it: the arguments that make it anew.

use super::{RelativeDelta, Weekday};
use crate::document::{Reader, Value};

/// Arguments for which null is the same as leaving them out.
const MAY_BE_NULL: [&str; 10] =
    ["leapdays", "yearday", "nlyearday", "year", "month", "day", "hour", "minute", "second", "microsecond"];

/// What `relativedelta(…)` takes and does not keep.
#[derive(Default)]
struct Conveniences {
    weeks: f64,
    yearday: i64,
    nlyearday: i64,
}

impl RelativeDelta {
    /// Reads the arguments of `relativedelta(…)`; what that would not take is a problem.
    pub(in crate::timetable) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let mut delta = Self::default();
        let mut conveniences = Conveniences::default();
        let mut sound = true;
        for (name, value) in reader.object(value)? {
            let read = reader.within(*name, |reader| delta.set(&mut conveniences, reader, name, value));
            sound &= read.is_some();
        }
        delta.apply(&conveniences, reader)?;
        sound.then(|| delta.normalised())
    }

    /// Takes one argument.
    fn set<'v>(
        &mut self,
        conveniences: &mut Conveniences,
        reader: &mut Reader<'v>,
        name: &str,
        value: &'v Value<'v>,
    ) -> Option<()> {
        match name {
            "years" => self.years = reader.integer::<i32>(value)?.into(),
            "months" => self.months = reader.integer::<i32>(value)?.into(),
            "weeks" => conveniences.weeks = reader.float(value)?,
            "days" => self.days = reader.float(value)?,
            "hours" => self.hours = reader.float(value)?,
            "minutes" => self.minutes = reader.float(value)?,
            "seconds" => self.seconds = reader.float(value)?,
            "microseconds" => self.microseconds = reader.float(value)?,
            "weekday" => self.weekday = Some(Weekday::read(reader, value)?),
            // The others may be null, which is the same as leaving them out.
            _ if *value == Value::Null && MAY_BE_NULL.contains(&name) => {}
            "leapdays" => self.leapdays = reader.float(value)?,
            "yearday" => conveniences.yearday = field(reader, value)?,
            "nlyearday" => conveniences.nlyearday = field(reader, value)?,
            "year" => self.year = Some(field(reader, value)?),
            "month" => self.month = Some(field(reader, value)?),
            "day" => self.day = Some(field(reader, value)?),
            "hour" => self.hour = Some(field(reader, value)?),
            "minute" => self.minute = Some(field(reader, value)?),
            "second" => self.second = Some(field(reader, value)?),
            "microsecond" => self.microsecond = Some(field(reader, value)?),
            _ => {
                reader.problem("is not a field of a relativedelta");
                return None;
            }
        }
        Some(())
    }

    /// Weeks are days; a day of the year is a month and a day, where `yearday` counts 29 February from day 60
    /// on and `nlyearday` never does.
    fn apply(&mut self, conveniences: &Conveniences, reader: &mut Reader<'_>) -> Option<()> {
        const LAST_DAYS: [i64; 12] = [31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 366];
        let &Conveniences { weeks, yearday, nlyearday } = conveniences;
        self.days += weeks * 7.0;
        let day_of_year = if nlyearday == 0 { yearday } else { nlyearday };
        if day_of_year == 0 {
            return Some(());
        }
        if nlyearday == 0 && yearday > 59 {
            self.leapdays = -1.0;
        }
        let Some(before) = LAST_DAYS.iter().position(|last| day_of_year <= *last) else {
            reader.problem(format_args!("{day_of_year} is not a day of the year"));
            return None;
        };
        self.month = i64::try_from(before + 1).ok();
        self.day = Some(if before == 0 { day_of_year } else { day_of_year - LAST_DAYS[before - 1] });
        Some(())
    }
}

/// A field to set. Python takes a float too, and raises when it is used.
fn field(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int(whole) => Some(*whole),
        other => {
            reader.expected("an integer", other);
            None
        }
    }
}

impl Weekday {
    /// `[day]` or `[day, nth]`, where an nth of null or 0 is the same as none.
    fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let Value::List(items) = value else {
            reader.expected("a list", value);
            return None;
        };
        let (day, nth) = match items {
            [day] | [day, Value::Null] => (day, &Value::Int(0)),
            [day, nth] => (day, nth),
            _ => {
                reader.problem(format_args!(
                    "expected a weekday and which of them, found {} values",
                    items.len()
                ));
                return None;
            }
        };
        let day = reader.within(0, |reader| Self::read_day(reader, day));
        let nth = reader.within(1, |reader| reader.integer::<i32>(nth))?;
        Some(Self { day: day?, nth: i64::from(nth) })
    }

    /// Negative numbers count from Sunday backwards: dateutil looks the name up in a Python list.
    fn read_day(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<i64> {
        let day: i64 = reader.integer(value)?;
        if !(-7..7).contains(&day) {
            reader.problem(format_args!("{day} is not a weekday: Monday is 0, Sunday is 6"));
            return None;
        }
        Some(day.rem_euclid(7))
    }
}
