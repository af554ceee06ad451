//! A cron expression in a time zone: Airflow's rules for days on which the clocks change.

use jiff::Timestamp;
use jiff::civil::DateTime;

use super::cron::{Cron, CronError, describe, without_preset};
use super::error::{NoRun, Result};
use super::zone::Zone;

/// A cron expression and the zone whose clocks it speaks of.
///
/// The search runs on what the clocks show. Then, if the expression matches every hour, the result is as far
/// from the start as the clocks say; otherwise it is the instant at which the clocks show the result, the
/// second one if they do so twice, and moved forward if they never do. This is Airflow 3.3.2's rule with all
/// its consequences: near a change of the clocks [`previous`](Self::previous) may answer an instant that is
/// not before the one it was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonedCron {
    expression: Box<str>,
    cron: Cron,
    zone: Zone,
}

impl ZonedCron {
    /// An expression or preset, in a zone.
    pub fn new(expression: &str, zone: Zone) -> std::result::Result<Self, CronError> {
        let expression = without_preset(expression);
        Ok(Self::of_parsed(expression, Cron::parse(expression)?, zone))
    }

    /// An expression that has been parsed, in a zone.
    pub(super) fn of_parsed(expression: &str, cron: Cron, zone: Zone) -> Self {
        Self { expression: expression.into(), cron, zone }
    }

    /// The expression, with a preset replaced by what it stands for.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The expression, parsed.
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The schedule in words.
    pub fn description(&self) -> String {
        describe(&self.expression)
    }

    /// The first match after an instant.
    pub fn next(&self, after: Timestamp) -> Result<Timestamp> {
        let wall = self.wall(after)?;
        let next = self.cron.next(wall).ok_or(NoRun::NeverAgain)?;
        if self.cron.is_every_hour() {
            return after.checked_add(next.duration_since(wall)).map_err(|_| NoRun::OutOfRange);
        }
        self.zone.instant(next).ok_or(NoRun::OutOfRange)
    }

    /// The last match before an instant, by the same rule backwards.
    pub fn previous(&self, before: Timestamp) -> Result<Timestamp> {
        let wall = self.wall(before)?;
        let previous = self.cron.previous(wall).ok_or(NoRun::NeverBefore)?;
        if self.cron.is_every_hour() {
            let previous = before.checked_sub(wall.duration_since(previous)).ok();
            return previous.filter(|at| Zone::UTC.wall(*at).year() >= 1).ok_or(NoRun::OutOfRange);
        }
        self.zone.instant(previous).ok_or(NoRun::OutOfRange)
    }

    /// What the clocks show in UTC, as time of the zone.
    pub(super) fn localize(&self, at: Timestamp) -> Result<Timestamp> {
        self.zone.instant(Zone::UTC.wall(at)).ok_or(NoRun::OutOfRange)
    }

    /// The instant itself if it is a match, otherwise the next one.
    pub fn align_to_next(&self, at: Timestamp) -> Result<Timestamp> {
        let next = self.next(at)?;
        if self.previous(next)? == at { Ok(at) } else { Ok(next) }
    }

    /// The instant itself if it is a match, otherwise the previous one.
    pub fn align_to_previous(&self, at: Timestamp) -> Result<Timestamp> {
        let previous = self.previous(at)?;
        if self.next(previous)? == at { Ok(at) } else { Ok(previous) }
    }

    /// What the clocks show, unless that is before Python's calendar begins.
    fn wall(&self, at: Timestamp) -> Result<DateTime> {
        Some(self.zone.wall(at)).filter(|wall| wall.year() >= 1).ok_or(NoRun::OutOfRange)
    }
}
