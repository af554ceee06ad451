//! Zones and times: as they are typed, and as they are shown.

use anyhow::{Context as _, Result, anyhow, bail};
use ferroflow_config::Configuration;
use ferroflow_model::timetable::Zone;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimeParser;

/// A zone by its name, or by its offset from UTC.
pub(super) fn zone(text: &str) -> Result<Zone> {
    if !text.starts_with(['+', '-']) {
        return Ok(Zone::named(text)?);
    }
    let zone = DateTimeParser::new().parse_time_zone(text).ok();
    let offset = zone.and_then(|zone| zone.to_fixed_offset().ok());
    let fixed = offset.and_then(|offset| Zone::fixed(offset.seconds().into()).ok());
    fixed.ok_or_else(|| anyhow!("{text:?} is not an offset from UTC such as +05:30"))
}

/// The zone of DAGs that name none.
pub(super) fn default_zone(configuration: &Configuration) -> Result<Zone> {
    let configured = configuration.require("core", "default_timezone")?;
    // The machine's zone is that of whoever parses the DAG, which need not be this machine.
    if configured.text == "system" {
        bail!("{} is \"system\"; name the zone with --timezone", configured.source);
    }
    Zone::named(&configured.text).with_context(|| configured.source.to_string())
}

/// A date or a time. Without an offset it is what the clocks of the zone show.
pub(super) fn moment(option: &str, text: &str, zone: &Zone) -> Result<Timestamp> {
    let wrong = || {
        anyhow!("{option}: {text:?} is neither a date such as 2026-03-01 nor a time such as 2026-03-01T06:00")
    };
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let wall = text.parse::<DateTime>().map_err(|_| wrong())?;
    zone.instant(wall).ok_or_else(wrong)
}

/// How times are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// For programs: as Python's `isoformat` does.
    Iso,
    /// For people, to the minute.
    Minutes,
    /// For people, with whatever there is of seconds.
    Seconds,
}

impl Style {
    /// The style for people that loses nothing of these times.
    pub(super) fn for_people(times: impl IntoIterator<Item = Timestamp>) -> Self {
        let has_seconds = times.into_iter().any(|at| at.as_nanosecond() % 60_000_000_000 != 0);
        if has_seconds { Self::Seconds } else { Self::Minutes }
    }

    /// A time by the clocks of a zone.
    pub(super) fn local(self, at: Timestamp, zone: &Zone) -> String {
        let offset = if self == Self::Iso { "%:z" } else { " %:z" };
        zone.zoned(at).strftime(&format!("{}{offset}", self.format())).to_string()
    }

    /// The same, for people with the day of the week.
    pub(super) fn local_with_weekday(self, at: Timestamp, zone: &Zone) -> String {
        let weekday = if self == Self::Iso { "" } else { "%a " };
        format!("{}{}", zone.zoned(at).strftime(weekday), self.local(at, zone))
    }

    /// A time in UTC; people are told by the name of the column.
    pub(super) fn utc(self, at: Timestamp) -> String {
        let offset = if self == Self::Iso { "%:z" } else { "" };
        Zone::UTC.zoned(at).strftime(&format!("{}{offset}", self.format())).to_string()
    }

    fn format(self) -> &'static str {
        match self {
            Self::Iso => "%Y-%m-%dT%H:%M:%S%.f",
            Self::Minutes => "%Y-%m-%d %H:%M",
            Self::Seconds => "%Y-%m-%d %H:%M:%S%.f",
        }
    }
}
