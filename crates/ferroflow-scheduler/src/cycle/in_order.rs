//! The steps of a cycle are done one after the other, whatever becomes of each.

use ferroflow_telemetry::chain;
use jiff::Timestamp;

use super::{CycleReport, Step};
use crate::Error;
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Does all steps, each by the time at which it begins. One that fails is no reason to leave out the others, unless
    /// the database is gone: none of them would fare better.
    pub(super) async fn do_steps(
        &mut self,
        report: &mut CycleReport,
        clock: impl Fn() -> Timestamp,
    ) -> Result<(), Error> {
        let (mut next, mut failed) = (Some(Step::ExecutorEvents), Ok(()));
        while let Some(step) = next {
            let now = clock();
            self.mind_the_clock(now);
            next = match self.step(step, report, now).await {
                Ok(next) => next,
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => {
                    tracing::error!(?step, "step of the scheduling cycle failed: {}", chain(&error));
                    failed = failed.and(Err(error));
                    step.after_failure()
                }
            };
        }
        failed
    }

    fn mind_the_clock(&mut self, now: Timestamp) {
        if now < self.latest {
            tracing::warn!(before = %self.latest, %now, "system clock was set back");
            self.due.clock_was_set_back();
            self.chores.clock_was_set_back(now);
            self.active_runs.wait_for_nothing();
        }
        self.latest = now;
    }
}

/// What needs a row that another transaction has locked is done later; nothing else waits for it.
pub(crate) fn later_if_locked(done: Result<(), Error>, what: &str) -> Result<(), Error> {
    match done {
        Err(error) if error.is_busy() => {
            tracing::warn!("{what}, since a row is locked: {}", chain(&error));
            Ok(())
        }
        done => done,
    }
}
