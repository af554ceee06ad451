//! Which asset events a run consumes.

use jiff::{SignedDuration, Timestamp};

/// The writer of an event dates it, and clocks differ: an event may be dated so much before the run that was made before
/// it came.
const CLOCKS_DIFFER_BY: SignedDuration = SignedDuration::from_mins(5);

/// The events of a run: those later than one time, up to another, that no other run of its DAG has consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWindow {
    /// An event at this time belongs to an earlier run, or to none.
    pub after: Option<Timestamp>,
    /// An event between this time and `after` belongs to this run if it came too late for the earlier one, and the DAG
    /// waited for its asset by then.
    pub belated_after: Option<Timestamp>,
    /// An event at this time is the last that may belong to this run.
    pub up_to: Timestamp,
}

/// What bounds the events of a run that assets asked for.
#[derive(Clone, Copy, Debug)]
pub struct EventBounds {
    /// When the newest of the queued assets was queued: the time after which the run runs.
    pub triggered_at: Timestamp,
    /// The latest such time of the DAG's earlier runs of the same type.
    pub previous: Option<Timestamp>,
    /// Whether the first run takes all events there ever were.
    pub catchup: bool,
    /// Since when the DAG waits for its assets.
    pub waits_since: Option<Timestamp>,
}

/// The window of a run. Only the first run looks at when the DAG began to wait, and not even that with
/// catchup.
pub fn event_window(bounds: EventBounds) -> EventWindow {
    let previous = bounds.previous.filter(|previous| *previous < bounds.triggered_at);
    let first = if bounds.catchup { None } else { bounds.waits_since };
    let after = previous.or(first);
    // Without an earlier run there is none that an event could be too late for.
    let belated_after = previous.and_then(|previous| previous.checked_sub(CLOCKS_DIFFER_BY).ok()).or(after);
    EventWindow { after, belated_after, up_to: bounds.triggered_at }
}

impl EventWindow {
    /// Whether an event of that time belongs to the run, if it came in time.
    pub fn contains(&self, event: Timestamp) -> bool {
        event <= self.up_to && self.after.is_none_or(|after| event > after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn window(previous: Option<i64>, catchup: bool, waits_since: Option<i64>) -> EventWindow {
        let (previous, waits_since) = (previous.map(at), waits_since.map(at));
        event_window(EventBounds { triggered_at: at(100), previous, catchup, waits_since })
    }

    #[test]
    fn a_window_begins_after_the_previous_run_and_ends_with_its_own() {
        let window = window(Some(50), false, Some(10));
        let belated_after = Some(at(50 - 300));
        assert_eq!(window, EventWindow { after: Some(at(50)), belated_after, up_to: at(100) });
        let inside: Vec<i64> =
            [49, 50, 51, 99, 100, 101].into_iter().filter(|s| window.contains(at(*s))).collect();
        assert_eq!(inside, [51, 99, 100]);
    }

    #[test]
    fn the_first_run_begins_with_the_wait_or_with_everything() {
        let first = window(None, false, Some(10));
        assert_eq!((first.after, first.belated_after), (Some(at(10)), Some(at(10))));
        assert_eq!(window(None, false, None).after, None);
        assert_eq!(window(None, true, Some(10)).after, None);
        assert!(window(None, true, Some(10)).contains(Timestamp::MIN));
    }

    #[test]
    fn a_run_at_the_same_time_is_not_a_previous_one() {
        assert_eq!(window(Some(100), false, Some(10)).after, Some(at(10)));
    }
}
