//! A time as a clock shows it, and where that clock hangs: Python's `datetime`.
//!
//! An instant will not do where keys are computed. Python rounds down what the clock shows, and may arrive at a
//! time that the clocks skip; it goes on with it, and so must we.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::zone::Zone;

/// What a clock shows, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalTime<'z> {
    pub(crate) wall: DateTime,
    pub(crate) place: Place<'z>,
}

/// Where a clock hangs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place<'z> {
    /// It is not said.
    Nowhere,
    /// So far ahead of UTC.
    Offset {
        microseconds: i64,
        /// The name that it was given.
        name: Option<String>,
    },
    /// In a zone.
    Zone {
        zone: &'z Zone,
        /// Whether a time that comes twice is the second one. A skipped one then counts as after the change.
        second: bool,
    },
}

impl<'z> LocalTime<'z> {
    /// What the clocks of a zone show at an instant.
    pub(crate) fn at(at: Timestamp, zone: &'z Zone) -> Self {
        let wall = zone.wall(at);
        let second = zone.offset_at(at) != zone.clocks(wall, false).offset();
        Self { wall, place: Place::Zone { zone, second } }
    }

    /// Puts a time that hangs nowhere into a zone: one that comes twice is the second, a skipped one moves
    /// forward by as much as was skipped. What hangs somewhere is the same instant in the zone. `None` beyond the
    /// calendar.
    pub(crate) fn into_zone(self, zone: &'z Zone) -> Option<Self> {
        if self.place != Place::Nowhere {
            return Self::from_utc(self.utc_wall()?, zone);
        }
        let before = zone.clocks(self.wall, false).offset().seconds();
        let after = zone.clocks(self.wall, true).offset().seconds();
        if after <= before {
            return Some(Self { wall: self.wall, place: Place::Zone { zone, second: true } });
        }
        let wall = moved(self.wall, SignedDuration::from_secs((after - before).into()))?;
        Some(Self { wall, place: Place::Zone { zone, second: false } })
    }

    fn from_utc(utc: DateTime, zone: &'z Zone) -> Option<Self> {
        let offset = zone.offset_at(Zone::UTC.instant(utc).unwrap_or(Timestamp::MAX));
        let wall = moved(utc, SignedDuration::from_secs(offset.seconds().into()))?;
        let second = offset != zone.clocks(wall, false).offset();
        Some(Self { wall, place: Place::Zone { zone, second } })
    }

    /// The same clock at another time.
    pub(crate) fn with_wall(&self, wall: DateTime) -> Self {
        Self { wall, place: self.place.clone() }
    }

    /// The same clock so much later, or earlier. Of a time that comes twice that is the first one, as Python
    /// forgets which it was. `None` beyond the calendar.
    pub(crate) fn moved(&self, by: SignedDuration) -> Option<Self> {
        let mut moved = self.with_wall(moved(self.wall, by)?);
        if let Place::Zone { second, .. } = &mut moved.place {
            *second = false;
        }
        Some(moved)
    }

    /// How many microseconds the clock is ahead of UTC.
    pub(crate) fn utc_offset(&self) -> Option<i64> {
        match &self.place {
            Place::Nowhere => None,
            Place::Offset { microseconds, .. } => Some(*microseconds),
            Place::Zone { zone, second } => {
                Some(i64::from(zone.clocks(self.wall, *second).offset().seconds()) * 1_000_000)
            }
        }
    }

    /// What the offset from UTC is called there.
    pub(crate) fn zone_name(&self) -> String {
        match &self.place {
            Place::Nowhere => String::new(),
            Place::Offset { name: Some(name), .. } => name.clone(),
            Place::Offset { microseconds: 0, .. } => "UTC".to_owned(),
            Place::Offset { microseconds, .. } => format!("UTC{}", offset_text(*microseconds, ":")),
            Place::Zone { zone, second } => zone.clocks_name(self.wall, *second),
        }
    }

    pub(crate) fn is_daylight_saving(&self) -> bool {
        match &self.place {
            Place::Zone { zone, second } => zone.clocks(self.wall, *second).dst().is_dst(),
            _ => false,
        }
    }

    /// The instant; `None` if the place is not known, or if it is not an instant of ours.
    pub(crate) fn instant(&self) -> Option<Timestamp> {
        Zone::UTC.instant(self.utc_wall()?)
    }

    /// Whether Python takes two times for the same: in one zone those that look alike, even if one is the first
    /// and the other the second; otherwise the same instant, unless a change of the clocks makes one ambiguous.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.place, &other.place) {
            (Place::Zone { zone, .. }, Place::Zone { zone: other_zone, .. }) if zone == other_zone => {
                self.wall == other.wall
            }
            _ => self.utc_wall() == other.utc_wall() && !self.is_ambiguous() && !other.is_ambiguous(),
        }
    }

    fn is_ambiguous(&self) -> bool {
        match &self.place {
            Place::Zone { zone, .. } => {
                zone.clocks(self.wall, false).offset() != zone.clocks(self.wall, true).offset()
            }
            _ => false,
        }
    }

    /// As Python's `isoformat` writes it.
    pub(crate) fn iso_format(&self) -> String {
        let wall = self.wall;
        let wall = if wall.subsec_nanosecond() == 0 { format!("{wall:.0}") } else { format!("{wall:.6}") };
        let offset = self.utc_offset().map(|offset| offset_text(offset, ":"));
        wall + &offset.unwrap_or_default()
    }

    fn utc_wall(&self) -> Option<DateTime> {
        moved(self.wall, SignedDuration::from_micros(-self.utc_offset()?))
    }
}

/// Hours and minutes, then seconds and their fraction if there are any.
pub(crate) fn offset_text(microseconds: i64, separator: &str) -> String {
    let sign = if microseconds < 0 { '-' } else { '+' };
    let (seconds, fraction) = (microseconds.abs() / 1_000_000, microseconds.abs() % 1_000_000);
    let (minutes, second) = (seconds / 60, seconds % 60);
    let minutes = format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60);
    match (second, fraction) {
        (0, 0) => minutes,
        (second, 0) => format!("{minutes}{separator}{second:02}"),
        (second, fraction) => format!("{minutes}{separator}{second:02}.{fraction:06}"),
    }
}

/// Python's calendar begins with the year 1, and ends with 9999.
fn moved(wall: DateTime, by: SignedDuration) -> Option<DateTime> {
    wall.checked_add(by).ok().filter(|wall| wall.year() >= 1)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn nowhere(wall: DateTime) -> LocalTime<'static> {
        LocalTime { wall, place: Place::Nowhere }
    }

    #[test]
    fn what_is_rounded_down_into_a_gap_stays_there() {
        // The clocks went from 00:00 to 01:00.
        let zone = Zone::named("America/Sao_Paulo").unwrap();
        let skipped = date(2018, 11, 4).at(0, 30, 0, 0);
        let moved = nowhere(skipped).into_zone(&zone).unwrap();
        assert_eq!(moved.iso_format(), "2018-11-04T01:30:00-02:00");
        assert_eq!(moved.with_wall(skipped).iso_format(), "2018-11-04T00:30:00-03:00");
        let second = LocalTime { wall: skipped, place: Place::Zone { zone: &zone, second: true } };
        assert_eq!(
            (second.iso_format().as_str(), second.zone_name().as_str()),
            ("2018-11-04T00:30:00-02:00", "-02")
        );
        assert!(second.is_daylight_saving());
        assert_eq!(second.instant().unwrap().to_string(), "2018-11-04T02:30:00Z");
    }

    #[test]
    fn a_time_that_comes_twice_is_the_second_until_it_is_moved() {
        let zone = Zone::named("Europe/Paris").unwrap();
        let twice = nowhere(date(2024, 10, 27).at(2, 30, 0, 0)).into_zone(&zone).unwrap();
        assert_eq!(twice.iso_format(), "2024-10-27T02:30:00+01:00");
        assert_eq!(twice.moved(SignedDuration::ZERO).unwrap().iso_format(), "2024-10-27T02:30:00+02:00");
        for (at, second) in [("2024-10-27T00:30:00Z", false), ("2024-10-27T01:30:00Z", true)] {
            let expected = LocalTime { wall: twice.wall, place: Place::Zone { zone: &zone, second } };
            assert_eq!(LocalTime::at(at.parse().unwrap(), &zone), expected);
        }
    }

    #[test]
    fn what_hangs_somewhere_is_shown_elsewhere() {
        let zone = Zone::named("Europe/Paris").unwrap();
        let offset = |microseconds| Place::Offset { microseconds, name: None };
        let noon = LocalTime { wall: date(2024, 7, 1).at(12, 0, 0, 0), place: offset(-3_600_500_000) };
        assert_eq!(noon.iso_format(), "2024-07-01T12:00:00-01:00:00.500000");
        assert_eq!(noon.zone_name(), "UTC-01:00:00.500000");
        assert_eq!(noon.into_zone(&zone).unwrap().iso_format(), "2024-07-01T15:00:00.500000+02:00");
        let last = LocalTime { wall: date(9999, 12, 31).at(23, 0, 0, 0), place: offset(0) };
        assert_eq!(last.clone().into_zone(&zone), None);
        assert_eq!(last.into_zone(&Zone::UTC).unwrap().iso_format(), "9999-12-31T23:00:00+00:00");
    }

    #[test]
    fn python_takes_ambiguous_times_of_two_zones_for_different() {
        let paris = Zone::named("Europe/Paris").unwrap();
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let at = |hour, zone| nowhere(date(2024, 10, 27).at(hour, 0, 0, 0)).into_zone(zone).unwrap();
        assert!(at(4, &paris).is_same(&at(4, &berlin)));
        assert!(!at(4, &paris).is_same(&at(5, &berlin)));
        assert!(!at(2, &paris).is_same(&at(2, &berlin)));
        assert!(at(2, &paris).is_same(&at(2, &paris)));
        let first =
            LocalTime { wall: at(2, &paris).wall, place: Place::Zone { zone: &paris, second: false } };
        assert!(at(2, &paris).is_same(&first));
    }
}
