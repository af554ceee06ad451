//! Time zones as Airflow names them: a name of the IANA database, or a fixed offset.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneOffsetInfo};
use jiff::{Timestamp, Zoned};

use crate::document::{Reader, Value};

/// A time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// A name that no time zone has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownZone {
    /// Not in the database.
    #[error("{0:?} is not a time zone of the IANA database (such as Europe/London)")]
    Name(String),
    /// In the database, but written in another case.
    #[error("the time zone {given:?} is written {known}")]
    Spelling {
        /// As it was written here,
        given: String,
        /// and as it should be.
        known: String,
    },
    /// An offset of a day or more.
    #[error("{0} seconds is not an offset from UTC")]
    Offset(i64),
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone of a name. `UTC` may be spelled in any case.
    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Self::UTC);
        }
        match TimeZone::get(name) {
            Ok(zone) if zone.iana_name() == Some(name) && !zone.is_unknown() => Ok(Self(zone)),
            Ok(zone) if !zone.is_unknown() => Err(UnknownZone::Spelling {
                given: name.to_owned(),
                known: zone.iana_name().unwrap_or_default().to_owned(),
            }),
            _ => Err(UnknownZone::Name(name.to_owned())),
        }
    }

    /// The zone that is always so many seconds ahead of UTC.
    pub fn fixed(seconds: i64) -> Result<Self, UnknownZone> {
        let offset = i32::try_from(seconds).ok().and_then(|seconds| Offset::from_seconds(seconds).ok());
        match offset {
            Some(offset) if seconds.abs() < 86_400 => Ok(Self(TimeZone::fixed(offset))),
            _ => Err(UnknownZone::Offset(seconds)),
        }
    }

    /// What the clocks show at an instant.
    pub fn wall(&self, at: Timestamp) -> DateTime {
        self.offset_at(at).to_datetime(at)
    }

    /// How far ahead of UTC the clocks are at an instant.
    pub(crate) fn offset_at(&self, at: Timestamp) -> Offset {
        self.0.to_offset(begun_second(at))
    }

    /// How the clocks are set when they show a time. Of two answers it is the one after the change if `second`
    /// says so, whether the time comes twice or not at all.
    pub(crate) fn clocks(&self, wall: DateTime, second: bool) -> TimeZoneOffsetInfo<'_> {
        // A skipped time lies after the change by the clocks before it, and the other way round.
        let offset = match (self.0.to_ambiguous_timestamp(wall).offset(), second) {
            (AmbiguousOffset::Unambiguous { offset }, _) => offset,
            (AmbiguousOffset::Gap { before, .. }, true) | (AmbiguousOffset::Fold { before, .. }, false) => {
                before
            }
            (AmbiguousOffset::Gap { after, .. }, false) | (AmbiguousOffset::Fold { after, .. }, true) => {
                after
            }
        };
        let at = offset.to_timestamp(wall).unwrap_or(Timestamp::MAX);
        self.0.to_offset_info(begun_second(at))
    }

    /// What that setting of the clocks is called; pendulum calls a fixed offset `+05:30`.
    pub(crate) fn clocks_name(&self, wall: DateTime, second: bool) -> String {
        match self.0.to_fixed_offset() {
            Ok(offset) if self.0.iana_name().is_none() => {
                let minutes = offset.seconds().abs() / 60;
                let sign = if offset.seconds() < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            _ => self.clocks(wall, second).abbreviation().to_owned(),
        }
    }

    /// The instant at which the clocks show a time. Of a time that comes twice it is the second; one that is
    /// skipped moves forward by as much as was skipped. `None` if that is not an instant of Python's, which begin
    /// with the year 1 in UTC.
    pub fn instant(&self, wall: DateTime) -> Option<Timestamp> {
        let at = self.0.to_ambiguous_timestamp(wall).later().ok()?;
        (Self::UTC.wall(at).year() >= 1).then_some(at)
    }

    /// The instant with its zone.
    pub fn zoned(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.0.clone())
    }

    /// The first change of the clocks after an instant, if there is another one: when, and by how many
    /// seconds they move.
    pub fn next_change(&self, after: Timestamp) -> Option<(Timestamp, i32)> {
        let mut before = self.0.to_offset(after);
        for transition in self.0.following(after) {
            let moved = transition.offset().seconds() - before.seconds();
            if moved != 0 {
                return Some((transition.timestamp(), moved));
            }
            before = transition.offset();
        }
        None
    }

    /// As a serialized DAG has it: a name, or seconds.
    pub(crate) fn encode(&self) -> serde_json::Value {
        match (self.0.iana_name(), self.0.to_fixed_offset()) {
            (None, Ok(offset)) if offset != Offset::UTC => offset.seconds().into(),
            _ => self.to_string().into(),
        }
    }

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Self> {
        let zone = match value {
            Value::Text(name) => Self::named(name),
            Value::Int(seconds) => Self::fixed(*seconds),
            other => {
                reader.expected("the name of a time zone or an offset in seconds", other);
                return None;
            }
        };
        zone.map_err(|error| reader.problem(error)).ok()
    }
}

/// jiff would look up the second that lies towards 1970. Before 1970 that is the next one, and the clocks may
/// change with it.
fn begun_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second() - i64::from(at.subsec_nanosecond() < 0)).unwrap_or(at)
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iana_name() {
            Some(name) => f.write_str(name),
            None => match self.0.to_fixed_offset() {
                Ok(offset) if offset == Offset::UTC => f.write_str("UTC"),
                Ok(offset) => write!(f, "{offset}"),
                Err(_) => f.write_str("unnamed"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn of_a_time_that_comes_twice_it_is_the_second_and_a_skipped_one_moves_forward() {
        let new_york = Zone::named("America/New_York").unwrap();
        let twice = new_york.instant(date(2024, 11, 3).at(1, 30, 0, 0)).unwrap();
        assert_eq!(twice.to_string(), "2024-11-03T06:30:00Z");
        let skipped = new_york.instant(date(2024, 3, 10).at(2, 30, 0, 0)).unwrap();
        assert_eq!(skipped.to_string(), "2024-03-10T07:30:00Z");
    }

    #[test]
    fn clocks_change_on_the_second_also_before_1970() {
        // New York left its own mean time at this second.
        let new_york = Zone::named("America/New_York").unwrap();
        let wall = |at: &str| new_york.wall(at.parse().unwrap()).to_string();
        assert_eq!(wall("1883-11-18T16:59:59.999999Z"), "1883-11-18T12:03:57.999999");
        assert_eq!(wall("1883-11-18T17:00:00Z"), "1883-11-18T12:00:00");
    }

    #[test]
    fn the_calendar_begins_with_the_year_1() {
        let first = date(1, 1, 1).at(0, 0, 0, 0);
        assert!(Zone::named("America/New_York").unwrap().instant(first).is_some());
        assert_eq!(Zone::named("Asia/Tokyo").unwrap().instant(first), None);
    }

    #[test]
    fn the_last_day_of_the_calendar_is_not_reached() {
        assert!(Zone::UTC.instant(date(9999, 12, 30).at(21, 59, 59, 0)).is_some());
        assert_eq!(Zone::UTC.instant(date(9999, 12, 31).at(0, 0, 0, 0)), None);
    }

    #[test]
    fn changes_of_the_clocks_are_found() {
        let change = |zone: &str, after: &str| {
            let found = Zone::named(zone).unwrap().next_change(after.parse().unwrap());
            found.map(|(when, seconds)| (when.to_string(), seconds))
        };
        let expected = Some(("2026-03-08T07:00:00Z".to_owned(), 3600));
        assert_eq!(change("America/New_York", "2026-01-01T00:00:00Z"), expected);
        let expected = Some(("2024-04-06T15:00:00Z".to_owned(), -1800));
        assert_eq!(change("Australia/Lord_Howe", "2024-01-01T00:00:00Z"), expected);
        assert_eq!(change("Asia/Kolkata", "2024-01-01T00:00:00Z"), None);
        assert_eq!(change("UTC", "2024-01-01T00:00:00Z"), None);
    }

    #[test]
    fn a_zone_shows_the_name_it_was_given() {
        assert_eq!(Zone::named("Europe/London").unwrap().to_string(), "Europe/London");
        assert_eq!(Zone::named("utc").unwrap().to_string(), "UTC");
        assert_eq!(Zone::fixed(0).unwrap().to_string(), "UTC");
        assert_eq!(Zone::fixed(19_800).unwrap().to_string(), "+05:30");
        assert_eq!(Zone::fixed(86_400), Err(UnknownZone::Offset(86_400)));
        assert!(Zone::named("Europe/Atlantis").is_err());
        assert!(Zone::named("Etc/Unknown").is_err());
        let error = Zone::named("europe/london").unwrap_err();
        assert_eq!(error.to_string(), "the time zone \"europe/london\" is written Europe/London");
    }
}
