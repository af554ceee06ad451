//! What cron expressions and deltas have in common.

use jiff::Timestamp;

use super::delta::Delta;
use super::error::{NoRun, Result};
use super::zoned_cron::ZonedCron;

/// A series of instants.
pub(super) trait Schedule {
    fn next(&self, after: Timestamp) -> Result<Timestamp>;
    fn previous(&self, before: Timestamp) -> Result<Timestamp>;
    fn align_to_next(&self, at: Timestamp) -> Result<Timestamp>;
    fn align_to_previous(&self, at: Timestamp) -> Result<Timestamp>;
}

impl Schedule for ZonedCron {
    fn next(&self, after: Timestamp) -> Result<Timestamp> {
        self.next(after)
    }

    fn previous(&self, before: Timestamp) -> Result<Timestamp> {
        self.previous(before)
    }

    fn align_to_next(&self, at: Timestamp) -> Result<Timestamp> {
        self.align_to_next(at)
    }

    fn align_to_previous(&self, at: Timestamp) -> Result<Timestamp> {
        self.align_to_previous(at)
    }
}

/// A delta has no grid of its own: every instant is aligned.
impl Schedule for Delta {
    fn next(&self, after: Timestamp) -> Result<Timestamp> {
        self.after(after).ok_or(NoRun::OutOfRange)
    }

    fn previous(&self, before: Timestamp) -> Result<Timestamp> {
        self.before(before).ok_or(NoRun::OutOfRange)
    }

    fn align_to_next(&self, at: Timestamp) -> Result<Timestamp> {
        Ok(at)
    }

    fn align_to_previous(&self, at: Timestamp) -> Result<Timestamp> {
        Ok(at)
    }
}
