//! How many instances of some tasks ended in which way.

use crate::state::TaskState;

/// Finished task instances, by the state they ended in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that succeeded.
    pub success: u32,
    /// Those that were skipped.
    pub skipped: u32,
    /// Those that failed.
    pub failed: u32,
    /// Those that did not run because something upstream failed.
    pub upstream_failed: u32,
    /// Those whose task or map index is gone.
    pub removed: u32,
}

impl Counts {
    /// All of them.
    pub fn done(&self) -> u32 {
        self.success + self.skipped + self.failed + self.upstream_failed + self.removed
    }

    pub(super) fn add(&mut self, state: TaskState) {
        if let Some(count) = self.of(state) {
            *count += 1;
        }
    }

    pub(super) fn take(&mut self, state: TaskState) {
        if let Some(count) = self.of(state) {
            *count = count.saturating_sub(1);
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        self.success += other.success;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.upstream_failed += other.upstream_failed;
        self.removed += other.removed;
    }

    fn of(&mut self, state: TaskState) -> Option<&mut u32> {
        match state {
            TaskState::Success => Some(&mut self.success),
            TaskState::Skipped => Some(&mut self.skipped),
            TaskState::Failed => Some(&mut self.failed),
            TaskState::UpstreamFailed => Some(&mut self.upstream_failed),
            TaskState::Removed => Some(&mut self.removed),
            TaskState::Scheduled
            | TaskState::Queued
            | TaskState::Running
            | TaskState::Restarting
            | TaskState::UpForRetry
            | TaskState::UpForReschedule
            | TaskState::Deferred
            | TaskState::AwaitingInput => None,
        }
    }
}

/// What became of the instances that another one waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upstream {
    /// How many there are in all. A task that takes no part in the run counts too, unless one of the tasks is
    /// there several times: then instances are counted.
    pub expected: u32,
    /// How many of these are setups.
    pub expected_setups: u32,
    /// Those that are finished.
    pub counts: Counts,
    /// Setups that succeeded.
    pub setup_success: u32,
    /// Setups that were skipped.
    pub setup_skipped: u32,
}

impl Upstream {
    /// Whether all are finished.
    pub fn is_done(&self) -> bool {
        self.counts.done() >= self.expected
    }

    /// Whether a judgement of `self` could be another one than of `other`.
    ///
    /// As long as one of those waited for is outstanding, rules only ask whether there is any of a kind; how many
    /// matters when all are done, and where some were removed. This is what keeps the cost of one finished
    /// instance from growing with the number of those that wait for it.
    pub(super) fn may_be_judged_otherwise_than(&self, other: &Self) -> bool {
        let kinds = |upstream: &Self| {
            let Counts { success, skipped, failed, upstream_failed, .. } = upstream.counts;
            [success > 0, skipped > 0, failed > 0, upstream_failed > 0]
        };
        let is_simple = |upstream: &Self| !upstream.is_done() && upstream.counts.removed == 0;
        !(is_simple(self) && is_simple(other) && kinds(self) == kinds(other))
    }

    pub(super) fn count(&mut self, state: TaskState, is_setup: bool) {
        self.counts.add(state);
        if is_setup {
            self.setup_success += u32::from(state == TaskState::Success);
            self.setup_skipped += u32::from(state == TaskState::Skipped);
        }
    }

    pub(super) fn discount(&mut self, state: TaskState, is_setup: bool) {
        self.counts.take(state);
        if is_setup {
            self.setup_success = self.setup_success.saturating_sub(u32::from(state == TaskState::Success));
            self.setup_skipped = self.setup_skipped.saturating_sub(u32::from(state == TaskState::Skipped));
        }
    }

    /// There are so many more to wait for.
    pub(super) fn expect(&mut self, instances: usize, are_setups: bool) {
        let instances = u32::try_from(instances).unwrap_or(u32::MAX);
        self.expected += instances;
        self.expected_setups += if are_setups { instances } else { 0 };
    }

    pub(super) fn count_all(&mut self, counts: &Counts, is_setup: bool) {
        self.counts.add_all(counts);
        if is_setup {
            self.setup_success += counts.success;
            self.setup_skipped += counts.skipped;
        }
    }
}
