//! Finding the next and the previous match in the calendar.
//!
//! Every column is a set of bits, so a step is a mask and a count of zeros; days become a mask per month.
//! Whatever the expression, a search looks at no more than 51 years of months.

use jiff::civil::{Date, DateTime};

use super::{Cron, DayPattern, Days, MonthDay, WeekDay};

/// How many calendar years a search may cross. Beyond them croniter gives up, whatever the columns say.
const REACH: i16 = 50;
const LAST_YEAR: i16 = 9999;
const FIRST_YEAR: i16 = 1;

impl Cron {
    /// The first match strictly after a moment; `None` if there is none within 50 years.
    pub fn next(&self, after: DateTime) -> Option<DateTime> {
        // The first unit that may match: the one after the unit that `after` lies in.
        let time = Time::of(after);
        let start = if self.has_seconds { time.next_second() } else { time.next_minute() };
        let start = match start {
            Some(time) => (after.date(), time),
            None => (after.date().tomorrow().ok()?, Time::FIRST),
        };
        self.search(|pattern| self.first_from(pattern, start.0, start.1), Ord::min)
    }

    /// The last match strictly before a moment; `None` if there is none within 50 years.
    pub fn previous(&self, before: DateTime) -> Option<DateTime> {
        // The last unit that may match: the one that lies just before the moment.
        let time = Time::of(before);
        let is_within_unit = before.subsec_nanosecond() > 0 || (!self.has_seconds && time.second > 0);
        let start = match (is_within_unit, self.has_seconds) {
            (true, _) => Some(time),
            (false, true) => time.previous_second(),
            (false, false) => time.previous_minute(),
        };
        let start = match start {
            Some(time) => (before.date(), time),
            None => (before.date().yesterday().ok().filter(|day| day.year() >= FIRST_YEAR)?, Time::LAST),
        };
        self.search(|pattern| self.last_until(pattern, start.0, start.1), Ord::max)
    }

    /// Searches each pattern of days and takes the better answer. Either failing fails the whole.
    fn search(
        &self,
        find: impl Fn(&DayPattern) -> Option<DateTime>,
        better: impl Fn(DateTime, DateTime) -> DateTime,
    ) -> Option<DateTime> {
        match &self.days {
            Days::Both(pattern) => find(pattern),
            Days::Either(one, other) => Some(better(find(one)?, find(other)?)),
        }
    }

    fn first_from(&self, pattern: &DayPattern, date: Date, time: Time) -> Option<DateTime> {
        let horizon = date.year().saturating_add(REACH).min(LAST_YEAR);
        let (mut year, mut month) = (date.year(), date.month());
        let mut days_left = from_bit(date.day() + 1);
        if let Some(time) = self.time_from(time).filter(|_| self.has(date, pattern)) {
            return Some(at(year, month, date.day(), time));
        }
        loop {
            if self.has_month(year, month) {
                let days = pattern.days(year, month) & days_left;
                if days != 0 {
                    let day = i8::try_from(days.trailing_zeros()).ok()?;
                    return Some(at(year, month, day, self.time_from(Time::FIRST)?));
                }
            }
            days_left = u32::MAX;
            let months_left = u32::from(self.months) & from_bit(month + 1);
            if months_left != 0 && self.has_year(year) {
                month = i8::try_from(months_left.trailing_zeros()).ok()?;
            } else {
                year += 1;
                month = i8::try_from((self.months & !1).trailing_zeros()).ok()?;
                if year > horizon {
                    return None;
                }
            }
        }
    }

    fn last_until(&self, pattern: &DayPattern, date: Date, time: Time) -> Option<DateTime> {
        let horizon = date.year().saturating_sub(REACH).max(FIRST_YEAR);
        let (mut year, mut month) = (date.year(), date.month());
        let mut days_left = below_bit(date.day());
        if let Some(time) = self.time_until(time).filter(|_| self.has(date, pattern)) {
            return Some(at(year, month, date.day(), time));
        }
        loop {
            if self.has_month(year, month) {
                let days = pattern.days(year, month) & days_left;
                if days != 0 {
                    return Some(at(year, month, highest_bit(days)?, self.time_until(Time::LAST)?));
                }
            }
            days_left = u32::MAX;
            let months_left = u32::from(self.months) & !1 & below_bit(month);
            if months_left != 0 && self.has_year(year) {
                month = highest_bit(months_left)?;
            } else {
                year -= 1;
                month = highest_bit(u32::from(self.months))?;
                if year < horizon {
                    return None;
                }
            }
        }
    }

    fn has(&self, date: Date, pattern: &DayPattern) -> bool {
        let (year, month) = (date.year(), date.month());
        self.has_month(year, month) && pattern.days(year, month) & (1 << date.day()) != 0
    }

    fn has_month(&self, year: i16, month: i8) -> bool {
        self.months & (1 << month) != 0 && self.has_year(year)
    }

    fn has_year(&self, year: i16) -> bool {
        self.years.is_none_or(|years| years.contains(year))
    }

    /// The first time of day that matches, at or after a given one.
    fn time_from(&self, from: Time) -> Option<Time> {
        let first = |bits: u64, from: i8| {
            let left = bits & (u64::MAX << from);
            (left != 0).then(|| bit_number(left.trailing_zeros()))
        };
        let hour = first(u64::from(self.hours), from.hour)?;
        let from = if hour == from.hour { from } else { Time { hour, ..Time::FIRST } };
        if let Some(minute) = first(self.minutes, from.minute) {
            let from = if minute == from.minute { from } else { Time { minute, second: 0, ..from } };
            if let Some(second) = first(self.seconds, from.second) {
                return Some(Time { hour, minute, second });
            }
            if let Some(minute) = first(self.minutes, minute + 1) {
                return Some(Time { hour, minute, second: first(self.seconds, 0)? });
            }
        }
        let hour = first(u64::from(self.hours), hour + 1)?;
        Some(Time { hour, minute: first(self.minutes, 0)?, second: first(self.seconds, 0)? })
    }

    /// The last time of day that matches, at or before a given one.
    fn time_until(&self, until: Time) -> Option<Time> {
        let last = |bits: u64, until: i8| {
            let left = if until < 0 { 0 } else { bits & (u64::MAX >> (63 - until)) };
            (left != 0).then(|| bit_number(left.ilog2()))
        };
        let hour = last(u64::from(self.hours), until.hour)?;
        let until = if hour == until.hour { until } else { Time { hour, ..Time::LAST } };
        if let Some(minute) = last(self.minutes, until.minute) {
            let until = if minute == until.minute { until } else { Time { minute, second: 59, ..until } };
            if let Some(second) = last(self.seconds, until.second) {
                return Some(Time { hour, minute, second });
            }
            if let Some(minute) = last(self.minutes, minute - 1) {
                return Some(Time { hour, minute, second: last(self.seconds, 59)? });
            }
        }
        let hour = last(u64::from(self.hours), hour - 1)?;
        Some(Time { hour, minute: last(self.minutes, 59)?, second: last(self.seconds, 59)? })
    }
}

impl DayPattern {
    /// The days of one month that match, as bits 1 to 31.
    fn days(&self, year: i16, month: i8) -> u32 {
        let first = Date::constant(year, month, 1);
        let length = first.days_in_month();
        let starts_on = first.weekday().to_sunday_zero_offset();
        self.month_day.days(starts_on, length) & self.week_day.days(starts_on, length)
    }
}

impl MonthDay {
    fn days(self, starts_on: i8, length: i8) -> u32 {
        let all = (2_u32 << length).wrapping_sub(1) & !1;
        match self {
            Self::Any => all,
            Self::Listed { days, last } => (days & all) | (u32::from(last) << length),
            Self::NearestWeekday(day) => {
                1 << nearest_weekday(day.cast_signed().min(length), starts_on, length)
            }
        }
    }
}

/// Friday for a Saturday and Monday for a Sunday, unless that leaves the month.
fn nearest_weekday(day: i8, starts_on: i8, length: i8) -> i8 {
    match (starts_on + day - 1) % 7 {
        6 if day > 1 => day - 1,
        6 => day + 2,
        0 if day < length => day + 1,
        0 => day - 2,
        _ => day,
    }
}

impl WeekDay {
    fn days(self, starts_on: i8, length: i8) -> u32 {
        const EVERY_WEEK: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
        let all = (2_u32 << length).wrapping_sub(1) & !1;
        match self {
            Self::Any => all,
            Self::Listed(weekdays) => {
                // One week of bits, turned so that bit 0 is the weekday of the first, repeated.
                let week = u64::from(weekdays);
                let turned = (week >> starts_on) | (week << (7 - starts_on)) & 0x7f;
                low_half(((turned & 0x7f) * EVERY_WEEK) << 1) & all
            }
            Self::Nth(occurrences) => {
                let mut days = 0_u64;
                for (weekday, wanted) in (0_i8..).zip(occurrences) {
                    let first = 1 + (weekday - starts_on).rem_euclid(7);
                    let last = first + (length - first) / 7 * 7;
                    days |= u64::from(wanted & 1) << last;
                    for nth in 1..=5 {
                        days |= u64::from(wanted >> nth & 1) << (first + 7 * (nth - 1));
                    }
                }
                low_half(days) & all
            }
        }
    }
}

/// A time of day to the second.
#[derive(Clone, Copy)]
struct Time {
    hour: i8,
    minute: i8,
    second: i8,
}

impl Time {
    const FIRST: Self = Self { hour: 0, minute: 0, second: 0 };
    const LAST: Self = Self { hour: 23, minute: 59, second: 59 };

    fn of(at: DateTime) -> Self {
        Self { hour: at.hour(), minute: at.minute(), second: at.second() }
    }

    fn next_second(self) -> Option<Self> {
        if self.second < 59 { Some(Self { second: self.second + 1, ..self }) } else { self.next_minute() }
    }

    /// The start of the next minute, unless that is tomorrow.
    fn next_minute(self) -> Option<Self> {
        match self {
            Self { hour, minute: 0..=58, .. } => Some(Self { hour, minute: self.minute + 1, second: 0 }),
            Self { hour: 0..=22, .. } => Some(Self { hour: self.hour + 1, minute: 0, second: 0 }),
            _ => None,
        }
    }

    fn previous_second(self) -> Option<Self> {
        if self.second > 0 { Some(Self { second: self.second - 1, ..self }) } else { self.previous_minute() }
    }

    /// The end of the previous minute, unless that was yesterday.
    fn previous_minute(self) -> Option<Self> {
        match self {
            Self { hour, minute: 1.., .. } => Some(Self { hour, minute: self.minute - 1, second: 59 }),
            Self { hour: 1.., .. } => Some(Self { hour: self.hour - 1, minute: 59, second: 59 }),
            _ => None,
        }
    }
}

fn at(year: i16, month: i8, day: i8, time: Time) -> DateTime {
    DateTime::constant(year, month, day, time.hour, time.minute, time.second, 0)
}

/// Bits from n up.
fn from_bit(n: i8) -> u32 {
    if n > 31 { 0 } else { u32::MAX << n }
}

/// Bits below n.
fn below_bit(n: i8) -> u32 {
    !from_bit(n)
}

#[expect(clippy::cast_possible_truncation, reason = "no month has a day 32")]
fn low_half(bits: u64) -> u32 {
    bits as u32
}

fn highest_bit(bits: u32) -> Option<i8> {
    (bits != 0).then(|| bit_number(bits.ilog2()))
}

fn bit_number(n: u32) -> i8 {
    i8::try_from(n).unwrap_or(0)
}
