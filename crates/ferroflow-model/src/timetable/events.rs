//! A timetable that runs at listed instants.

use jiff::Timestamp;

use super::{DataInterval, Restriction, RunInfo};

/// The listed instants, in the order in which the document has them: that is the order they are tried in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    dates: Vec<Timestamp>,
    /// Then the next one is found without looking at those before.
    are_sorted: bool,
    /// Whether a manual run stands for the most recent event instead of for its own time.
    pub restrict_to_events: bool,
    /// What the interface shows.
    pub description: String,
    /// The same in short.
    pub summary: String,
}

impl Events {
    /// Runs at these instants.
    pub fn new(
        dates: Vec<Timestamp>,
        restrict_to_events: bool,
        description: String,
        summary: String,
    ) -> Self {
        Self { are_sorted: dates.is_sorted(), dates, restrict_to_events, description, summary }
    }

    /// When to run.
    pub fn dates(&self) -> &[Timestamp] {
        &self.dates
    }

    pub(super) fn next_run(
        &self,
        last: Option<DataInterval>,
        restriction: &Restriction,
        now: Timestamp,
    ) -> Option<RunInfo> {
        let earliest = match restriction.earliest {
            earliest if restriction.catchup => earliest,
            Some(earliest) => Some(earliest.max(now)),
            None => Some(now),
        };
        let is_open = |event: Timestamp| {
            earliest.is_none_or(|earliest| event >= earliest) && last.is_none_or(|last| event > last.end)
        };
        let event = if self.are_sorted {
            *self.dates.get(self.dates.partition_point(|event| !is_open(*event)))?
        } else {
            self.dates.iter().copied().find(|event| is_open(*event))?
        };
        if restriction.latest.is_some_and(|latest| event > latest) {
            return None;
        }
        Some(RunInfo::exact(event))
    }

    pub(super) fn manual_interval(&self, run_after: Timestamp) -> DataInterval {
        let at = match self.dates.first() {
            Some(first) if self.restrict_to_events => {
                let past = self.dates.iter().rev().copied().find(|event| *event <= run_after);
                if run_after < *first { *first } else { past.unwrap_or(*first) }
            }
            _ => run_after,
        };
        DataInterval::exact(at)
    }
}
