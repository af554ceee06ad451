//! Adding a `relativedelta` to an instant.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use super::{RelativeDelta, Weekday};
use crate::timetable::timedelta;

impl RelativeDelta {
    /// Months, and a time of whole microseconds.
    #[expect(clippy::cast_precision_loss, reason = "a float counts the seconds of 285 million years")]
    pub(in crate::timetable) fn of_months_and_time(months: i64, time: SignedDuration) -> Self {
        let seconds = time.as_secs() as f64;
        let microseconds = f64::from(time.subsec_micros());
        Self { months, seconds, microseconds, ..Self::default() }.normalised()
    }

    /// `-delta`: the amounts are negated, the fields to set stay. So do leap days, as they do in dateutil.
    pub(in crate::timetable) fn negated(&self) -> Self {
        let negated = Self {
            years: -self.years,
            months: -self.months,
            days: -self.days,
            hours: -self.hours,
            minutes: -self.minutes,
            seconds: -self.seconds,
            microseconds: -self.microseconds,
            ..self.clone()
        };
        negated.normalised()
    }

    /// `instant + delta`: fields are set and months added, with the day kept within its month; then days and
    /// smaller amounts are added; then the weekday is searched. `None` where Python raises.
    pub(in crate::timetable) fn added_to(&self, instant: DateTime) -> Option<DateTime> {
        let date = self.shifted(instant.date())?;
        let time = instant.time();
        let set = DateTime::new(
            date.year(),
            date.month(),
            date.day(),
            self.hour.map_or(Ok(time.hour()), i8::try_from).ok()?,
            self.minute.map_or(Ok(time.minute()), i8::try_from).ok()?,
            self.second.map_or(Ok(time.second()), i8::try_from).ok()?,
            self.microsecond
                .map_or(Ok(time.subsec_nanosecond() / 1000), i32::try_from)
                .ok()?
                .checked_mul(1000)?,
        );
        let leapdays = if date.month() > 2 && date.in_leap_year() { self.leapdays } else { 0.0 };
        let microseconds = timedelta::microseconds(&[
            (self.microseconds, 1),
            (self.seconds, 1_000_000),
            (self.minutes, 60_000_000),
            (self.hours, 3_600_000_000),
            (self.days + leapdays, timedelta::DAY),
        ])?;
        let moved = timedelta::add(set.ok()?, microseconds)?;
        match &self.weekday {
            Some(weekday) => weekday.search(moved),
            None => Some(moved),
        }
    }

    /// Seconds with years of 365 and months of 30 days. Microseconds do not count: Airflow leaves them out.
    #[expect(clippy::cast_precision_loss, reason = "exact for the years that there are")]
    pub(in crate::timetable) fn approximate_seconds(&self) -> f64 {
        let calendar = self.years * 365 * 86_400 + self.months * 30 * 86_400;
        // Step by step, as there: a fraction would be rounded differently otherwise.
        calendar as f64
            + self.days * 24.0 * 60.0 * 60.0
            + self.hours * 60.0 * 60.0
            + self.minutes * 60.0
            + self.seconds
    }

    pub(in crate::timetable) fn has_months_or_years(&self) -> bool {
        self.months != 0 || self.years != 0
    }

    /// Carries what is too much for a unit into the next greater one; each keeps its own sign.
    pub(super) fn normalised(mut self) -> Self {
        carry(&mut self.microseconds, &mut self.seconds, 1_000_000.0);
        carry(&mut self.seconds, &mut self.minutes, 60.0);
        carry(&mut self.minutes, &mut self.hours, 60.0);
        carry(&mut self.hours, &mut self.days, 24.0);
        self.years += self.months / 12;
        self.months %= 12;
        self
    }

    /// A date with year, month and day set, and years and months added.
    fn shifted(&self, date: Date) -> Option<Date> {
        let mut year = set_or(self.year, date.year().into()).checked_add(self.years)?;
        let mut month = set_or(self.month, date.month().into()).checked_add(self.months)?;
        // A month that is set beyond December counts on only if there are months to add.
        if self.months != 0 && month > 12 {
            year = year.checked_add(1)?;
            month -= 12;
        } else if self.months != 0 && month < 1 {
            year = year.checked_sub(1)?;
            month += 12;
        }
        let year = i16::try_from(year).ok().filter(|year| *year >= 1)?;
        let first = Date::new(year, i8::try_from(month).ok()?, 1).ok()?;
        let day = set_or(self.day, date.day().into()).min(first.days_in_month().into());
        Date::new(year, first.month(), i8::try_from(day).ok()?).ok()
    }
}

/// Year, month and day count as not set if they are 0.
fn set_or(field: Option<i64>, otherwise: i64) -> i64 {
    field.filter(|value| *value != 0).unwrap_or(otherwise)
}

/// Python's `divmod` of the amount by the size, which for a fraction is more than a division: the quotient is
/// made from the exact remainder.
fn carry(amount: &mut f64, greater: &mut f64, size: f64) {
    if amount.abs() <= size - 1.0 {
        return;
    }
    let rest = *amount % size;
    let quotient = (*amount - rest) / size;
    *greater += quotient.round();
    *amount = rest;
}

impl Weekday {
    /// The nth such weekday from an instant on, which itself may be the first.
    fn search(&self, instant: DateTime) -> Option<DateTime> {
        let today = i64::from(instant.weekday().to_monday_zero_offset());
        let weeks = self.nth.abs().max(1) - 1;
        let days = if self.nth >= 0 {
            weeks * 7 + (self.day - today).rem_euclid(7)
        } else {
            -(weeks * 7 + (today - self.day).rem_euclid(7))
        };
        timedelta::add(instant, days.checked_mul(timedelta::DAY)?)
    }
}
