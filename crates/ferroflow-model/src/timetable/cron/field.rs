//! The columns of an expression, and what can be wrong with one.

use std::fmt;

use crate::timetable::calendar_names::{MONTHS, WEEKDAYS};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Minute,
    Hour,
    MonthDay,
    Month,
    WeekDay,
    Second,
    Year,
}

impl Field {
    /// In the order in which they stand: five, six or seven of them.
    pub(super) const ALL: [Self; 7] =
        [Self::Minute, Self::Hour, Self::MonthDay, Self::Month, Self::WeekDay, Self::Second, Self::Year];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::MonthDay => "day of month",
            Self::Month => "month",
            Self::WeekDay => "day of week",
            Self::Second => "second",
            Self::Year => "year",
        }
    }

    pub(super) fn first(self) -> u64 {
        match self {
            Self::Minute | Self::Hour | Self::WeekDay | Self::Second => 0,
            Self::MonthDay | Self::Month => 1,
            Self::Year => 1970,
        }
    }

    pub(super) fn last(self) -> u64 {
        match self {
            Self::Minute | Self::Second => 59,
            Self::Hour => 23,
            Self::MonthDay => 31,
            Self::Month => 12,
            Self::WeekDay => 6,
            Self::Year => 2099,
        }
    }

    /// The number behind a three-letter name.
    pub(super) fn named(self, name: &str) -> Option<u64> {
        let (names, first): (&[&str], u64) = match self {
            Self::Month => (&MONTHS, 1),
            Self::WeekDay => (&WEEKDAYS, 0),
            _ => return None,
        };
        let position = names.iter().position(|known| known[..3].eq_ignore_ascii_case(name))?;
        Some(first + position as u64)
    }

    /// What a number stands for, if it has another meaning than itself: Sunday may be 7 where there are five
    /// columns, and day 0 of a month is day 1 where there are six.
    pub(super) fn alias(self, number: u64, columns: usize) -> u64 {
        match (self, number, columns) {
            (Self::WeekDay, 7, 5) => 0,
            (Self::MonthDay, 0, 6) => 1,
            _ => number,
        }
    }
}

/// Why a text is no cron expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Not five, six or seven columns.
    #[error(
        "a cron expression has 5 columns (minute, hour, day of month, month, day of week), \
         6 (and second) or 7 (and year); this has {0}"
    )]
    Columns(usize),
    /// Something in one column.
    #[error("{}: {reason}", Quoted(field, text))]
    Field {
        /// Which column, in words.
        field: &'static str,
        /// The text of that column.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
}

struct Quoted<'e>(&'e str, &'e str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.0, self.1)
    }
}
