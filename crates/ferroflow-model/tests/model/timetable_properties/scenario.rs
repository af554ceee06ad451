//! Random circumstances in which a schedule is asked for its next run.

use ferroflow_model::timetable::{DataInterval, Restriction, RunInfo};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::timetable_properties::grid::{Grid, Place};

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// Where now lies from a change of the clocks.
    pub(crate) minutes: i64,
    /// Whether now is moved next to a time of the schedule, and by how many microseconds it misses that.
    snap: Option<i64>,
    /// Where the last run ended, and how long before that it began, in thousandths of the step it ended in. It is
    /// on the grid and off it (as when the schedule has changed), past and to come.
    last: Option<(Place, i16)>,
    earliest: Option<Place>,
    latest: Option<Place>,
}

/// What a timetable is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) now: Timestamp,
    pub(crate) last: Option<DataInterval>,
    pub(crate) restriction: Restriction,
}

pub(crate) fn scenario() -> impl Strategy<Value = Scenario> {
    let minutes = prop_oneof![prop::sample::select(vec![-61, 0, 1, 30, 90, 1500]), -300_i64..1000];
    let place = (-3_isize..=2, prop_oneof![Just(0), 0_i16..1000])
        .prop_map(|(steps, permille)| Place { steps, permille });
    let snap = prop::option::weighted(0.4, -1_i64..=1);
    let length = prop_oneof![Just(0), Just(1000), 0_i16..2500];
    let last = prop::option::weighted(0.6, (place.clone(), length));
    let earliest = prop::option::weighted(0.6, place.clone());
    (minutes, snap, last, earliest, prop::option::weighted(0.2, place)).prop_map(
        |(minutes, snap, last, earliest, latest)| Scenario { minutes, snap, last, earliest, latest },
    )
}

impl Scenario {
    pub(crate) fn on(&self, grid: &Grid, now: Timestamp) -> Question {
        let now = self.snap.map_or(now, |micros| grid.floor(now) + SignedDuration::from_micros(micros));
        let last = self.last.map(|(place, length)| {
            let end = grid.near(now, place);
            let step = grid.after(end).duration_since(end).as_micros() * i128::from(length) / 1000;
            let whole = if place.permille == 0 && length == 1000 { Some(grid.before(end)) } else { None };
            let start =
                whole.unwrap_or_else(|| end - SignedDuration::from_micros(i64::try_from(step).unwrap()));
            DataInterval { start, end }
        });
        let earliest = self.earliest.map(|place| grid.near(now, place));
        let latest = self.latest.map(|place| grid.near(now, place));
        Question { now, last, restriction: Restriction { earliest, latest, catchup: false } }
    }
}

impl Question {
    pub(crate) fn last_run(&self) -> Option<RunInfo> {
        self.last.map(|interval| RunInfo {
            run_after: interval.end,
            data_interval: Some(interval),
            partition_date: None,
            partition_key: None,
        })
    }

    pub(crate) fn ends_before(&self, at: Timestamp) -> bool {
        self.restriction.latest.is_some_and(|latest| latest < at)
    }
}
