//! What changes of the clocks do to the runs of a schedule, in words.

use std::cmp::Ordering;

use ferroflow_model::timetable::cron::Cron;
use ferroflow_model::timetable::{Delta, RunInfo, Timetable, Zone};
use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp};

use super::{crons, without_assets};

/// Longer than any change of the clocks: some countries have moved across the date line.
const LONGER_THAN_A_CHANGE: SignedDuration = SignedDuration::from_hours(48);

/// The clocks that a timetable goes by; if it goes by none, those that are shown.
pub(super) struct Clocks<'t> {
    zone: &'t Zone,
    /// "in Europe/London " if other clocks are shown than the timetable goes by.
    place: String,
    crons: Vec<Cron>,
    /// Whether runs stand for the time from one time of the expression to the next.
    has_intervals: bool,
    /// The step of a schedule that counts time, whatever the clocks show.
    step: Option<&'t Delta>,
}

/// The clocks move at an instant, by so much.
#[derive(Clone, Copy)]
struct Change {
    at: Timestamp,
    by: SignedDuration,
}

impl Change {
    /// Whether an instant is so soon after it that the clocks show what they have shown before, or what they
    /// would show without it is skipped.
    fn is_around(self, at: Timestamp) -> bool {
        (SignedDuration::ZERO..self.by.abs()).contains(&at.duration_since(self.at))
    }
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
            place: if zone == shown { String::new() } else { format!("in {zone} ") },
            has_intervals: matches!(time, Timetable::CronDataInterval(_)),
            step: match time {
                Timetable::DeltaDataInterval(delta) => Some(delta),
                Timetable::DeltaTrigger(trigger) => Some(&trigger.delta),
                _ => None,
            },
            crons,
        }
    }

    /// What there is to say about each run of a list that starts at an instant.
    pub(super) fn notes(&self, from: Timestamp, runs: &[RunInfo]) -> Vec<Option<String>> {
        let before = std::iter::once(None).chain(runs.iter().map(Some));
        before.zip(runs).map(|(last, run)| self.note(from, last, run, runs)).collect()
    }

    fn note(
        &self,
        from: Timestamp,
        last: Option<&RunInfo>,
        run: &RunInfo,
        all: &[RunInfo],
    ) -> Option<String> {
        let at = run.run_after;
        let since = last.map_or(from, |last| last.run_after);
        let around = self.change_around(at);
        let mut left_out = self.passed_over(since, run, around);
        left_out.retain(|time| !self.may_have_a_run(*time, all));
        let parts = [
            self.changes_in_words(&self.changes(since, at)),
            self.effect(at, around),
            self.left_out_in_words(&left_out, self.zone.wall(at).date()),
            last.and_then(|last| self.seam(last, run)),
            self.odd_length(run),
            self.shift(since, at),
        ];
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

    /// The change that makes the clocks show a time near an instant twice, or skip one.
    fn change_around(&self, at: Timestamp) -> Option<Change> {
        let change = self.changes(at.checked_sub(LONGER_THAN_A_CHANGE).ok()?, at).pop();
        change.filter(|change| change.is_around(at))
    }

    fn changes_in_words(&self, changes: &[Change]) -> Option<String> {
        let one = |change: &Change| {
            let direction = if change.by.is_positive() { "forward" } else { "back" };
            let before = self.zone.wall(change.at).saturating_sub(change.by);
            format!("{direction} {} on {}", in_words(change.by), day_and_time(before))
        };
        let clocks = format!("clocks {}", self.place);
        match changes {
            [] => None,
            [change] => Some(format!("{clocks}go {}", one(change))),
            [first, second] => Some(format!("{clocks}go {} and {}", one(first), one(second))),
            [.., last] => {
                Some(format!("{clocks}change {} times, the last time {}", changes.len(), one(last)))
            }
        }
    }

    /// Where the run stands otherwise than the expression says, or stands twice.
    fn effect(&self, at: Timestamp, around: Option<Change>) -> Option<String> {
        let wall = self.zone.wall(at);
        let is_named = self.names(wall);
        let twice = |which| Some(format!("{}: {which}", self.said_of(wall, wall.date(), "comes twice")));
        let special = match around {
            Some(change) if change.by.is_positive() => self.after_a_gap(wall, change),
            Some(_) if !is_named => None,
            Some(_) if self.every_hour_names(wall) => twice("this is the second"),
            Some(_) => twice("runs at the second"),
            None if is_named && self.zone.instant(wall).is_some_and(|second| second != at) => {
                twice("this is the first")
            }
            None => None,
        };
        let is_elsewhere = !is_named && !self.crons.is_empty();
        special.or_else(|| {
            is_elsewhere.then(|| {
                let wall = self.time(wall, wall.date());
                format!("{wall} is no time of the expression: counted on from the run before the change")
            })
        })
    }

    /// Of a time that is skipped, Airflow makes the one that is as far behind the gap.
    fn after_a_gap(&self, wall: DateTime, gap: Change) -> Option<String> {
        let skipped = self.moved_from(wall, gap)?;
        let skipping = self.said_of(skipped, wall.date(), "does not exist");
        let time = time_on_from(skipped, wall);
        Some(if self.names(wall) {
            format!("{skipping}: its run and that of {time} are one")
        } else {
            format!("{skipping}: runs at {time}")
        })
    }

    /// The time of an expression, skipped by the clocks, whose run is at the time as far behind the gap.
    fn moved_from(&self, wall: DateTime, gap: Change) -> Option<DateTime> {
        let skipped = wall.checked_sub(gap.by).ok()?;
        let is_moved = |cron: &Cron| names(cron, skipped) && !(cron.is_every_hour() && names(cron, wall));
        self.crons.iter().any(is_moved).then_some(skipped)
    }

    fn left_out_in_words(&self, times: &[DateTime], day: Date) -> Option<String> {
        match *times {
            [] => None,
            [time] => Some(self.said_of(time, day, "has no run")),
            [first, .., last] => {
                let what = format!("to {}, {} times, have no run", time_on_from(first, last), times.len());
                Some(self.said_of(first, day, &what))
            }
        }
    }

    /// The times of expressions that are between a run and the one before it by the clock. Airflow looks for the
    /// next time from what the clocks show at the last run, and that may have come from a time that was skipped,
    /// or come again.
    fn passed_over(&self, since: Timestamp, run: &RunInfo, around: Option<Change>) -> Vec<DateTime> {
        let wall = self.zone.wall(run.run_after);
        // The first interval may start after the time that was asked for.
        let start = run.data_interval.filter(|_| self.has_intervals).map(|interval| interval.start);
        let since = start.map_or(since, |start| since.max(start));
        let start = match around {
            Some(gap) if since == run.run_after => wall.saturating_sub(gap.by),
            _ => self.zone.wall(since),
        };
        let mut times: Vec<DateTime> = Vec::new();
        for cron in self.crons.iter().filter(|cron| !cron.is_every_hour()) {
            let next = |after| cron.next(after).filter(|time| *time < wall);
            times.extend(std::iter::successors(next(start), |time| next(*time)));
        }
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Whether one of the runs is that of a time, or it could be one after the end of the list.
    fn may_have_a_run(&self, time: DateTime, runs: &[RunInfo]) -> bool {
        let (Some(at), Some(last)) = (self.zone.instant(time), runs.last()) else { return false };
        at > last.run_after || runs.binary_search_by_key(&at, |run| run.run_after).is_ok()
    }

    /// Where Airflow looks back to find out where an interval starts, it may find a time that was skipped.
    fn seam(&self, last: &RunInfo, run: &RunInfo) -> Option<String> {
        let start = run.data_interval.filter(|_| self.has_intervals)?.start;
        let (first, second, how_many) = match last.run_after.cmp(&start) {
            Ordering::Less => (last.run_after, start, "no data interval"),
            Ordering::Equal => return None,
            Ordering::Greater => (start, last.run_after, "two data intervals"),
        };
        let (first, second) = (self.zone.wall(first), self.zone.wall(second));
        let from = self.time(first, self.zone.wall(run.run_after).date());
        Some(format!("{from} to {} is in {how_many}", time_on_from(first, second)))
    }

    fn names(&self, wall: DateTime) -> bool {
        self.crons.iter().any(|cron| names(cron, wall))
    }

    fn every_hour_names(&self, wall: DateTime) -> bool {
        self.crons.iter().any(|cron| cron.is_every_hour() && names(cron, wall))
    }

    /// An interval from one time of the expression to the next is as long as the two are apart, but where the
    /// clocks change.
    fn odd_length(&self, run: &RunInfo) -> Option<String> {
        let interval = run.data_interval.filter(|_| self.has_intervals)?;
        let cron = self.crons.first().filter(|cron| !cron.is_every_hour())?;
        // If the interval starts behind a gap, what the clocks show there is no time of the expression.
        let end = cron.next(self.zone.wall(interval.start))?;
        let usual = end.duration_since(cron.previous(end)?);
        let missing = usual - interval.end.duration_since(interval.start);
        let how = if missing.is_positive() { "shorter" } else { "longer" };
        (!missing.is_zero()).then(|| format!("its data interval is {} {how}", in_words(missing)))
    }

    /// A schedule that counts time goes on as if the clocks had not changed; they show another time then, unless
    /// they have moved by a number of its steps.
    fn shift(&self, since: Timestamp, at: Timestamp) -> Option<String> {
        let step = self.step?;
        let unchanged = self.zone.wall(since).checked_add(at.duration_since(since)).ok()?;
        let wall = self.zone.wall(at);
        let moved = wall.duration_since(unchanged);
        let is_a_step =
            matches!(step, Delta::Fixed(step) if moved.as_micros().checked_rem(step.as_micros()) == Some(0));
        if moved.is_zero() || is_a_step {
            return None;
        }
        let words = if unchanged.date() == wall.date() { time_of } else { day_and_time };
        Some(format!("moves from {} to {} by the clock", words(unchanged), words(wall)))
    }

    /// Whether a time is of the day that its row tells.
    fn is_on(&self, wall: DateTime, day: Date) -> bool {
        self.place.is_empty() && wall.date() == day
    }

    /// A time, with what the row does not tell: its day, and where.
    fn time(&self, wall: DateTime, day: Date) -> String {
        if self.is_on(wall, day) { time_of(wall) } else { format!("{}{}", self.place, day_and_time(wall)) }
    }

    /// Something about a time, with its day.
    fn said_of(&self, wall: DateTime, day: Date, what: &str) -> String {
        let on_that_day = if self.is_on(wall, day) { " on that day" } else { "" };
        format!("{} {what}{on_that_day}", self.time(wall, day))
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

fn day_and_time(wall: DateTime) -> String {
    format!("{} {}", wall.strftime("%a %Y-%m-%d"), time_of(wall))
}

/// A time, with its day if that is another one than that of a time told before.
fn time_on_from(told: DateTime, wall: DateTime) -> String {
    if told.date() == wall.date() { time_of(wall) } else { day_and_time(wall) }
}

/// A length without its sign: `1 h`, `30 min`, `1 h 30 min`.
fn in_words(length: SignedDuration) -> String {
    let seconds = length.as_secs().unsigned_abs();
    let units = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let parts = units.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
    parts.collect::<Vec<_>>().join(" ")
}
