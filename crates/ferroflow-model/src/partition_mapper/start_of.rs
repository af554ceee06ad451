//! Keys that are times: the start of the period around one.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};

use super::output_format::{OutputFormat, fill_in};
use super::problem::{KeyProblem, Result};
use super::{MapperKind, PartitionMapper, Period};
use crate::timetable::local_time::{LocalTime, Place};
use crate::timetable::{Zone, key_format};

/// A mapper of times.
pub(super) struct StartOf<'m> {
    period: Period,
    timezone: &'m Zone,
    input_format: &'m str,
    output_format: &'m str,
}

impl PartitionMapper {
    pub(super) fn as_start_of(&self) -> Result<StartOf<'_>> {
        match &self.kind {
            MapperKind::StartOf { period, timezone, input_format, output_format } => {
                Ok(StartOf { period: *period, timezone, input_format, output_format })
            }
            _ => Err(KeyProblem::NotATime),
        }
    }
}

impl<'m> StartOf<'m> {
    /// Reads an upstream key, and writes the start of the period around it.
    pub(super) fn to_downstream(&self, key: &str) -> Result<String> {
        let time = key_format::parse(key, self.input_format)?;
        let time = time.into_zone(self.timezone).ok_or(KeyProblem::OutOfRange)?;
        self.write(&self.start(&time)?)
    }

    /// Writes a time as a downstream key.
    pub(super) fn write(&self, time: &LocalTime<'_>) -> Result<String> {
        let text = key_format::format(time, self.output_format);
        if self.period == Period::Quarter {
            return Ok(fill_in(&text, quarter(time.wall))?);
        }
        Ok(text)
    }

    /// The time that a downstream key says, which need not be the start of a period.
    pub(super) fn read(&self, key: &str) -> Result<LocalTime<'static>> {
        if !self.period.has_placeholders() {
            return Ok(key_format::parse(key, self.output_format)?);
        }
        OutputFormat::of(self.output_format, self.period)?.parse(key)
    }

    /// Writes a time of a window as an upstream key.
    pub(super) fn write_upstream(&self, time: &LocalTime<'static>) -> Result<String> {
        let mut time = time.clone();
        if time.place != Place::Nowhere {
            // What the clock shows there counts, and if that comes twice then the second.
            let shown = time.into_zone(self.timezone).ok_or(KeyProblem::OutOfRange)?.wall;
            time = LocalTime { wall: shown, place: Place::Nowhere };
        }
        let time = time.into_zone(self.timezone).ok_or(KeyProblem::OutOfRange)?;
        Ok(key_format::format(&time, self.input_format))
    }

    /// The start of the period that a downstream key says, in the zone of the mapper unless the key has another.
    pub(super) fn date(&self, key: &str) -> Result<LocalTime<'m>> {
        let start = self.start(&self.read(key)?)?;
        if start.place == Place::Nowhere {
            return start.into_zone(self.timezone).ok_or(KeyProblem::OutOfRange);
        }
        Ok(start)
    }

    /// Rounds down what the clock shows, even to a time that it skips.
    fn start<'z>(&self, time: &LocalTime<'z>) -> Result<LocalTime<'z>> {
        let (date, midnight) = (time.wall.date(), Time::midnight());
        let day = |date: Date| Ok(time.with_wall(date.to_datetime(midnight)));
        match self.period {
            Period::Hour => Ok(time.with_wall(date.at(time.wall.hour(), 0, 0, 0))),
            Period::Day => day(date),
            Period::Week => {
                let days = i64::from(date.weekday().to_monday_zero_offset());
                let monday =
                    time.moved(SignedDuration::from_hours(-24 * days)).ok_or(KeyProblem::OutOfRange)?;
                Ok(monday.with_wall(monday.wall.date().to_datetime(midnight)))
            }
            Period::Month => day(date.first_of_month()),
            Period::Quarter => day(first_of(date, quarter(time.wall) * 3 - 2)),
            Period::Year => day(date.first_of_year()),
        }
    }
}

fn quarter(wall: DateTime) -> i8 {
    (wall.month() - 1) / 3 + 1
}

fn first_of(date: Date, month: i8) -> Date {
    date.with().month(month).day(1).build().unwrap_or(date)
}

impl Period {
    /// How keys are written unless the mapper says how.
    pub(super) const fn default_output_format(self) -> &'static str {
        match self {
            Self::Hour => "%Y-%m-%dT%H",
            Self::Day => "%Y-%m-%d",
            Self::Week => "%Y-%m-%d (W%V)",
            Self::Month => "%Y-%m",
            Self::Quarter => "%Y-Q{quarter}",
            Self::Year => "%Y",
        }
    }

    /// Whether keys are read back by a pattern of their own, and not by `strptime`, which does not know quarters
    /// and cannot do with the number of a week.
    pub(super) const fn has_placeholders(self) -> bool {
        matches!(self, Self::Week | Self::Quarter)
    }
}
