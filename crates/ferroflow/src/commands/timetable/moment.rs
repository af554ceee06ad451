//! Zones and times: as they are typed, and as they are shown.

use anyhow::{Context as _, Result, anyhow, bail};
use ferroflow_config::Configuration;
use ferroflow_model::timetable::Zone;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::{DateTimeParser, Pieces};
use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, Timestamp};

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

/// Which end of the listing a time is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    From,
    Until,
}

impl Bound {
    fn option(self) -> &'static str {
        match self {
            Self::From => "--from",
            Self::Until => "--until",
        }
    }
}

const YEARS: &str = "is outside the calendar, which has the years 1 to 9999";

/// A date or a time, and what the user should know of how it was read. Without an offset it is what the clocks of
/// the zone show.
pub(super) fn moment(bound: Bound, text: &str, zone: &Zone) -> Result<(Timestamp, Vec<String>)> {
    let option = bound.option();
    let wrong = |reason: &str| anyhow!("{option}: {text:?} {reason}");
    if text.contains('[') {
        bail!(wrong(
            "has something in brackets: leave that out, and name the zone with --timezone or by an offset, such \
             as 2026-03-01T06:00+09:00"
        ));
    }
    let pieces = Pieces::parse(text).map_err(|_| wrong(why_unreadable(text)))?;
    let typed = DateTime::from_parts(pieces.date(), pieces.time().unwrap_or(Time::midnight()));
    let wall = typed - SignedDuration::from_nanos((typed.subsec_nanosecond() % 1000).into());
    let offset = pieces.to_numeric_offset();
    let at = match offset {
        Some(offset) => offset.to_timestamp(wall).ok().filter(|at| Zone::UTC.wall(*at).year() >= 1),
        None => zone.instant(wall),
    };
    let at = match (at, bound) {
        (Some(at), _) => at,
        // People write the last day of the calendar for "never", and not all of it are instants.
        (None, Bound::Until) if wall.year() == 9999 => last_instant(),
        (None, Bound::From) if wall.year() == 9999 => {
            bail!(wrong("is too late for anything to come after it"))
        }
        (None, _) => bail!(wrong(YEARS)),
    };
    let mut remarks = Vec::new();
    if wall != typed {
        remarks.push(format!("{option}: {text} is cut off at the microsecond, as times are in Airflow"));
    }
    if offset.is_none() {
        remarks.extend(clock_change(wall, zone, at).map(|remark| format!("{option}: {remark}")));
    }
    Ok((at, remarks))
}

/// The last instant there is, in whole microseconds.
fn last_instant() -> Timestamp {
    Timestamp::from_microsecond(Timestamp::MAX.as_microsecond()).unwrap_or(Timestamp::MAX)
}

fn why_unreadable(text: &str) -> &'static str {
    let day = text.split(['T', 't', ' ']).next().unwrap_or(text);
    let shape: String = day.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    match shape.as_str() {
        "0000-00-00" | "00000000" if day.parse::<Date>().is_err() => {
            "is no date: the calendar has no such day"
        }
        "00000-00-00" | "+000000-00-00" | "-000000-00-00" => YEARS,
        _ => "is neither a date such as 2026-03-01 nor a time such as 2026-03-01T06:00",
    }
}

/// What became of a time that the clocks of a zone skip, or show twice.
fn clock_change(wall: DateTime, zone: &Zone, at: Timestamp) -> Option<String> {
    let style = Style::for_people([at]);
    let time = style.civil(wall);
    match zone.zoned(at).time_zone().to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => {
            let taken = style.civil(zone.wall(at));
            Some(format!("{time} does not exist in {zone}, the clocks skip it: {taken} is taken"))
        }
        AmbiguousOffset::Fold { before, .. } => {
            let first = Style::Iso.local(before.to_timestamp(wall).ok()?, zone);
            Some(format!("{time} comes twice in {zone}: the second is taken; the first is {first}"))
        }
    }
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
        let zoned = zone.zoned(at);
        format!("{}{}", self.civil(zoned.datetime()), zoned.strftime(offset))
    }

    /// The same, for people with the day of the week.
    pub(super) fn local_with_weekday(self, at: Timestamp, zone: &Zone) -> String {
        let weekday = if self == Self::Iso { "" } else { "%a " };
        format!("{}{}", zone.zoned(at).strftime(weekday), self.local(at, zone))
    }

    /// A time in UTC; people are told by the name of the column.
    pub(super) fn utc(self, at: Timestamp) -> String {
        let offset = if self == Self::Iso { "+00:00" } else { "" };
        format!("{}{offset}", self.civil(Zone::UTC.wall(at)))
    }

    fn civil(self, wall: DateTime) -> String {
        wall.strftime(self.format(wall.subsec_nanosecond() != 0)).to_string()
    }

    fn format(self, has_fraction: bool) -> &'static str {
        match self {
            Self::Iso if has_fraction => "%Y-%m-%dT%H:%M:%S%.6f",
            Self::Iso => "%Y-%m-%dT%H:%M:%S",
            Self::Minutes => "%Y-%m-%d %H:%M",
            Self::Seconds => "%Y-%m-%d %H:%M:%S%.f",
        }
    }
}
