//! What changes of the clocks do to the runs of a schedule, in words.

use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{RunInfo, Timetable, Zone};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::{crons, without_assets};

/// Longer than any change of the clocks: some countries have moved across the date line.
const LONGER_THAN_A_CHANGE: SignedDuration = SignedDuration::from_hours(48);

/// The clocks that a timetable goes by; if it goes by none, those that are shown.
pub(super) struct Clocks<'t> {
    zone: &'t Zone,
    /// " in Europe/London" if other clocks are shown than the timetable goes by.
    place: String,
    crons: Vec<Cron>,
    cuts_intervals: bool,
    counts_time: bool,
}

/// The clocks move at an instant, by so much.
#[derive(Clone, Copy)]
struct Change {
    at: Timestamp,
    by: SignedDuration,
}

impl<'t> Clocks<'t> {
    /// The clocks of a timetable whose times are shown in a zone.
    pub(super) fn of(timetable: &'t Timetable, shown: &'t Zone) -> Self {
        let zoned = crons(timetable);
        let zone = zoned.first().map_or(shown, |cron| cron.zone());
        let crons: Vec<Cron> = zoned.iter().map(|zoned| *zoned.cron()).collect();
        let time = without_assets(timetable);
        Self {
            zone,
            place: if zone == shown { String::new() } else { format!(" in {zone}") },
            cuts_intervals: matches!(time, Timetable::CronDataInterval(_))
                && !crons.iter().any(Cron::is_every_hour),
            counts_time: matches!(time, Timetable::DeltaDataInterval(_) | Timetable::DeltaTrigger(_)),
            crons,
        }
    }

    /// What there is to say about a run, given the time of the one before it.
    pub(super) fn note(&self, since: Timestamp, run: &RunInfo) -> Option<String> {
        let at = run.run_after;
        let changes = self.changes(since, at);
        let shift = if changes.is_empty() { None } else { self.shift(since, at) };
        let parts = [self.changes_in_words(&changes), self.effect(at), self.odd_length(run), shift];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The changes after an instant, up to another one.
    fn changes(&self, after: Timestamp, until: Timestamp) -> Vec<Change> {
        let next = |after| {
            let (at, seconds) = self.zone.next_change(after)?;
            (at <= until).then_some(Change { at, by: SignedDuration::from_secs(seconds.into()) })
        };
        std::iter::successors(next(after), |change| next(change.at)).collect()
    }

    fn changes_in_words(&self, changes: &[Change]) -> Option<String> {
        let place = &self.place;
        let one = |change: &Change| {
            let direction = if change.by.is_positive() { "forward" } else { "back" };
            let before = self.zone.wall(change.at).saturating_sub(change.by);
            format!("{direction} {} on {}", in_words(change.by), before.strftime("%a %Y-%m-%d %H:%M"))
        };
        match changes {
            [] => None,
            [change] => Some(format!("clocks{place} go {}", one(change))),
            [first, second] => Some(format!("clocks{place} go {} and {}", one(first), one(second))),
            [.., last] => {
                Some(format!("clocks{place} change {} times, the last time {}", changes.len(), one(last)))
            }
        }
    }

    /// Where the run stands otherwise than the expression says, or stands twice.
    fn effect(&self, at: Timestamp) -> Option<String> {
        let wall = self.zone.wall(at);
        let is_named = self.names(wall);
        let change = self.changes(at.checked_sub(LONGER_THAN_A_CHANGE).ok()?, at).pop();
        let change = change.filter(|change| at.duration_since(change.at) < change.by.abs());
        let special = match change {
            Some(change) if change.by.is_positive() => self.after_a_gap(wall, change),
            Some(_) if !is_named => None,
            Some(_) if self.every_hour_names(wall) => {
                Some(format!("{} comes twice on that day: this is the second", time_of(wall)))
            }
            Some(_) => Some(format!("{} comes twice on that day: runs at the second", time_of(wall))),
            None if is_named && self.zone.instant(wall).is_some_and(|second| second != at) => {
                Some(format!("{} comes twice on that day: this is the first", time_of(wall)))
            }
            None => None,
        };
        let is_elsewhere = !is_named && !self.crons.is_empty();
        special.or_else(|| {
            is_elsewhere.then(|| {
                let wall = time_of(wall);
                format!("{wall} is no time of the expression: counted on from the run before the change")
            })
        })
    }

    /// Of a time that is skipped, Airflow makes the one that is as far behind the gap.
    fn after_a_gap(&self, wall: DateTime, gap: Change) -> Option<String> {
        let skipped = wall.checked_sub(gap.by).ok()?;
        let is_moved = |cron: &Cron| names(cron, skipped) && !(cron.is_every_hour() && names(cron, wall));
        if !self.crons.iter().any(is_moved) {
            return None;
        }
        let (skipped, time) = (time_of(skipped), time_of(wall));
        Some(if self.names(wall) {
            format!("{skipped} does not exist on that day: its run and that of {time} are one")
        } else {
            format!("{skipped} does not exist on that day: runs at {time}")
        })
    }

    fn names(&self, wall: DateTime) -> bool {
        self.crons.iter().any(|cron| names(cron, wall))
    }

    fn every_hour_names(&self, wall: DateTime) -> bool {
        self.crons.iter().any(|cron| cron.is_every_hour() && names(cron, wall))
    }

    /// An interval that starts and ends by the clock is shorter or longer when the clocks change within it.
    fn odd_length(&self, run: &RunInfo) -> Option<String> {
        let interval = run.data_interval.filter(|_| self.cuts_intervals)?;
        if !self.names(self.zone.wall(interval.end)) {
            return None;
        }
        let by_the_clock = self.zone.wall(interval.end).duration_since(self.zone.wall(interval.start));
        let missing = by_the_clock - interval.end.duration_since(interval.start);
        let how = if missing.is_positive() { "shorter" } else { "longer" };
        (!missing.is_zero()).then(|| format!("its data interval is {} {how}", in_words(missing)))
    }

    /// A schedule that counts time keeps its time in UTC; the clocks show another one.
    fn shift(&self, since: Timestamp, at: Timestamp) -> Option<String> {
        let same_in_utc = Zone::UTC.wall(since).time() == Zone::UTC.wall(at).time();
        let (before, after) = (self.zone.wall(since), self.zone.wall(at));
        let is_shifted = self.counts_time && same_in_utc && before.time() != after.time();
        is_shifted.then(|| format!("moves from {} to {} by the clock", time_of(before), time_of(after)))
    }
}

/// Whether a time is one of the expression's.
fn names(cron: &Cron, wall: DateTime) -> bool {
    let before = wall.checked_sub(SignedDuration::from_secs(1));
    before.ok().and_then(|before| cron.next(before)) == Some(wall)
}

fn time_of(wall: DateTime) -> String {
    wall.strftime(if wall.second() == 0 { "%H:%M" } else { "%H:%M:%S" }).to_string()
}

/// A length without its sign: `1 h`, `30 min`, `1 h 30 min`.
fn in_words(length: SignedDuration) -> String {
    let seconds = length.as_secs().unsigned_abs();
    let units = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let parts = units.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
    parts.collect::<Vec<_>>().join(" ")
}
