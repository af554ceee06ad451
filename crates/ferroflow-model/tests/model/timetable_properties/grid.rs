//! The times of a schedule around now, found by walking forward alone: what the code finds by looking back and
//! aligning is compared with these.

use ferroflow_model::timetable::ZonedCron;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::timetable_properties::clocks::Change;

/// How many times before and after now a grid has at least.
const MARGIN: usize = 5;

#[derive(Debug)]
pub(crate) struct Grid(Vec<Timestamp>);

impl Grid {
    /// Walks from well before an instant until well after another. It starts before the change of the clocks: a
    /// walk that began within an hour that comes twice would miss the times it shows first.
    pub(crate) fn around(cron: &ZonedCron, low: Timestamp, high: Timestamp, change: &Change) -> Self {
        let shift = SignedDuration::from_secs(i64::from(change.seconds.abs()));
        let near = low.min(change.at) - 2.hours() - shift;
        let back = |days: i64| near - SignedDuration::from_hours(24 * days);
        let is_enough = |days: i64| {
            let mut times = times_after(cron, back(days)).take(MARGIN + 1);
            times.all(|at| at <= low)
        };
        let windows = [0, 1, 4, 16, 64, 256, 1024, 4096, 25_000];
        let mut days = windows.into_iter().find(|days| is_enough(*days)).unwrap();
        // Where times come in bursts, a month of hours every year say, a window may reach far too many of them.
        let mut too_few = days / 4;
        while days > 16 && days - too_few > 1 + days / 32 {
            let middle = i64::midpoint(too_few, days);
            if is_enough(middle) { days = middle } else { too_few = middle }
        }
        let mut ahead = 0;
        // The first time may be off if the walk began near another change of the clocks.
        let times = times_after(cron, back(days)).skip(1).take_while(|at| {
            ahead += usize::from(*at > high);
            ahead <= MARGIN
        });
        Self(times.collect())
    }

    pub(crate) fn first(&self) -> Timestamp {
        self.0[0]
    }

    /// The latest time up to an instant.
    pub(crate) fn floor(&self, at: Timestamp) -> Timestamp {
        self.0[self.index(at)]
    }

    /// The first time from an instant on.
    pub(crate) fn ceil(&self, at: Timestamp) -> Timestamp {
        *self.0.iter().find(|point| **point >= at).unwrap()
    }

    /// The first time after an instant.
    pub(crate) fn after(&self, at: Timestamp) -> Timestamp {
        *self.0.iter().find(|point| **point > at).unwrap()
    }

    /// The last time before an instant.
    pub(crate) fn before(&self, at: Timestamp) -> Timestamp {
        *self.0.iter().rfind(|point| **point < at).unwrap()
    }

    /// The times just before and just after an instant, as far as they are known.
    pub(crate) fn neighbours(&self, at: Timestamp) -> impl Iterator<Item = Timestamp> {
        let behind = self.0.iter().copied().rev().skip_while(move |point| *point > at).take(2);
        behind.chain(self.0.iter().copied().find(move |point| *point > at))
    }

    /// The time that lies so many times after the one up to an instant, and a part of the way to the next.
    pub(crate) fn near(&self, at: Timestamp, place: Place) -> Timestamp {
        let point = |n: isize| self.0[self.index(at).checked_add_signed(n).unwrap()];
        let here = point(place.steps);
        let length =
            point(place.steps + 1).duration_since(here).as_micros() * i128::from(place.permille) / 1000;
        here + SignedDuration::from_micros(i64::try_from(length).unwrap())
    }

    fn index(&self, at: Timestamp) -> usize {
        self.0.iter().rposition(|point| *point <= at).unwrap()
    }
}

fn times_after(cron: &ZonedCron, at: Timestamp) -> impl Iterator<Item = Timestamp> {
    let following = |at: &Timestamp| {
        let next = cron.next(*at).unwrap();
        // Else the walk would have no end.
        assert!(next > *at, "{} in {}: {at} is followed by {next}", cron.expression(), cron.zone());
        Some(next)
    };
    std::iter::successors(Some(at), following).skip(1)
}

/// A place on a grid or between two of its points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) steps: isize,
    pub(crate) permille: i16,
}
