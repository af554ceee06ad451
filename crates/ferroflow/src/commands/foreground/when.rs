//! The date that a run is to stand for, as it was typed.

use anyhow::{Result, anyhow};
use ferroflow_config::Configuration;
use ferroflow_model::timetable::Zone;
use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;

/// What is told of a text that is no date.
pub(crate) const NOT_A_DATE: &str =
    "give a date such as 2026-03-01, 2026-03-01T06:00 or 2026-03-01T06:00+09:00";

/// A date or a time. Without an offset it is what the clocks of `[core] default_timezone` show.
pub(crate) fn logical_date(text: &str, configuration: &Configuration) -> Result<Timestamp> {
    let zone = configuration.require("core", "default_timezone")?;
    let zone = if zone.text == "system" { Zone::UTC } else { Zone::named(&zone.text)? };
    read_date(text, &zone).ok_or_else(|| anyhow!("{text:?} is no date: {NOT_A_DATE}"))
}

/// The same of what may be something else.
pub(crate) fn read_date(text: &str, zone: &Zone) -> Option<Timestamp> {
    let pieces = Pieces::parse(text.trim()).ok()?;
    let wall = DateTime::from_parts(pieces.date(), pieces.time().unwrap_or(Time::midnight()));
    let at = match pieces.to_numeric_offset() {
        Some(offset) => offset.to_timestamp(wall).ok()?,
        None => zone.instant(wall)?,
    };
    // As precise as a database is.
    Timestamp::from_microsecond(at.as_microsecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<String> {
        read_date(text, &Zone::named("Europe/Berlin").unwrap()).map(|at| at.to_string())
    }

    #[test]
    fn dates_are_read_in_the_zone_of_the_site() {
        assert_eq!(at("2026-03-01").as_deref(), Some("2026-02-28T23:00:00Z"));
        assert_eq!(at("2026-07-01T06:00").as_deref(), Some("2026-07-01T04:00:00Z"));
        assert_eq!(at("2026-07-01 06:00:00.5+09:00").as_deref(), Some("2026-06-30T21:00:00.5Z"));
        assert_eq!(at("2026-07-01T06:00:00Z").as_deref(), Some("2026-07-01T06:00:00Z"));
        assert_eq!(at("manual__2026"), None);
    }
}
