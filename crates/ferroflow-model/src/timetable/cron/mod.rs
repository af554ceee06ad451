//! Cron expressions in croniter's dialect, as Airflow uses it, on civil time.
//!
//! [`Cron::parse`] makes an expression into sets of bits ([`parse`] knows the dialect); [`Cron::next`] and
//! [`Cron::previous`] search them ([`search`] knows the calendar). Neither knows a time zone: that is
//! [`ZonedCron`](super::zoned_cron::ZonedCron).

mod describe;
mod field;
mod parse;
mod random;
mod search;

use std::str::FromStr;

pub use describe::describe;
pub use field::CronError;

/// A parsed expression: which moments of civil time it names.
///
/// It is a value of some 60 bytes without pointers; two expressions that mean the same may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cron {
    /// Bit n is minute n; likewise below. Days and months start at bit 1.
    minutes: u64,
    hours: u32,
    months: u16,
    /// Only bit 0 when the expression has no column for seconds.
    seconds: u64,
    /// Whether there is a column for seconds: then the search moves in seconds, else in minutes.
    has_seconds: bool,
    /// `None` is every year.
    years: Option<Years>,
    days: Days,
    every_hour: bool,
}

/// The years of a seven-column expression, 1970 to 2099, counted from 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Years([u64; 3]);

impl Years {
    const FIRST: i16 = 1970;

    fn contains(self, year: i16) -> bool {
        let Ok(n) = usize::try_from(year - Self::FIRST) else { return false };
        n < 192 && self.0[n / 64] & (1 << (n % 64)) != 0
    }
}

/// Which days match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Days {
    /// The days that satisfy both day columns.
    Both(DayPattern),
    /// The days that satisfy one of two patterns. Both patterns must have a match within reach, or there is
    /// none at all: croniter searches them one after the other and either may fail.
    Either(DayPattern, DayPattern),
}

/// A condition on the day of the month and one on the day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DayPattern {
    month_day: MonthDay,
    week_day: WeekDay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MonthDay {
    Any,
    /// Bits 1 to 31; `last` adds the last day, whichever it is.
    Listed {
        days: u32,
        last: bool,
    },
    /// The weekday nearest to a day, within the month (`15w`).
    NearestWeekday(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WeekDay {
    Any,
    /// Bits 0 (Sunday) to 6.
    Listed(u8),
    /// Per weekday which of its occurrences in the month: bits 1 to 5, and bit 0 for the last one.
    Nth([u8; 7]),
}

impl Cron {
    /// Whether the hour column is, after expansion, exactly `*`. Airflow then computes in absolute time, so
    /// that the hour which happens twice at the end of daylight saving time gets its runs twice.
    pub fn is_every_hour(&self) -> bool {
        self.every_hour
    }

    /// Whether the expression has a column for seconds.
    pub fn has_seconds(&self) -> bool {
        self.has_seconds
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(expression: &str) -> Result<Self, CronError> {
        Self::parse(expression)
    }
}

/// What Airflow puts in the place of a preset; everything else stays as it is. `@midnight`, `@annually` and
/// other spellings in capitals are croniter's own and are understood by [`Cron::parse`].
pub fn without_preset(expression: &str) -> &str {
    match expression {
        "@hourly" => "0 * * * *",
        "@daily" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@quarterly" => "0 0 1 */3 *",
        "@yearly" => "0 0 1 1 *",
        other => other,
    }
}
