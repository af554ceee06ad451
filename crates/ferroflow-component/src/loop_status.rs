//! What the loop of a component is doing: for the heartbeat, which follows it, and for an operator who asks (SIGUSR2).
//!
//! Where the loop stands is logged at once, also if it has stood there for long; everything else by the component itself,
//! as soon as its loop waits for the next thing to do.

use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_telemetry::clock;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::JobType;

/// Where the loop of a component stands.
#[derive(Debug)]
pub struct LoopStatus {
    component: &'static str,
    /// The step, and since when; none while it waits.
    step: Mutex<Option<(&'static str, Timestamp)>>,
    /// Until when it got on before a cycle failed, if none has come to its end since.
    failing_since: Mutex<Option<Timestamp>>,
    progress: Progress,
    asked: Notify,
}

/// When a component last got on in its loop: with a step, or with one of the many things that a step does one after the
/// other.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Option<Timestamp>>>);

impl Progress {
    /// The next thing begins.
    pub fn gets_on(&self) {
        self.mark(clock::now());
    }

    fn mark(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    fn latest(&self) -> Option<Timestamp> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoopStatus {
    /// Of a component that starts.
    pub fn new(job_type: JobType, progress: Progress) -> Self {
        let (step, failing_since) = (Mutex::default(), Mutex::default());
        Self { component: job_type.component(), step, failing_since, progress, asked: Notify::new() }
    }

    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Until when the loop is known to get on: now if it waits for something to do; in a cycle, when it began what it is
    /// at. While one cycle fails after the other, it does not get on, whatever is done in each.
    pub fn gets_on_until(&self, now: Timestamp) -> Timestamp {
        let step = *self.step.lock().unwrap_or_else(PoisonError::into_inner);
        let failing_since = *self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            None => now,
            Some(_) => failing_since.or_else(|| self.progress.latest()).unwrap_or(now).min(now),
        }
    }

    /// Logs where the loop stands, and has the component log the rest.
    pub fn ask(&self) {
        let component = self.component;
        let step = *self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((step, since)) = step {
            let seconds = clock::now().duration_since(since).as_secs_f64();
            tracing::info!(
                component,
                step,
                "state: the loop is in a step of a cycle that began {seconds:.3} s ago"
            );
        } else {
            tracing::info!(component, "state: the loop waits for something to do");
        }
        self.asked.notify_one();
    }

    /// Waits until the state is asked for.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    pub fn begins(&self, step: &'static str, now: Timestamp) {
        self.progress.mark(now);
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, now));
    }

    /// A cycle is done; the loop waits for the next one.
    pub fn waits(&self) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.failing_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A cycle has failed.
    pub fn fails(&self) {
        let mut since = self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = since.or_else(|| self.progress.latest());
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn it_gets_on_while_it_waits_and_with_each_thing_that_it_does() {
        let start = Timestamp::constant(1_800_000_000, 0);
        let later = |seconds| start + SignedDuration::from_secs(seconds);
        let progress = Progress::default();
        let status = LoopStatus::new(JobType::Scheduler, progress.clone());
        assert_eq!(status.gets_on_until(later(9)), later(9), "it has yet to begin");
        status.begins("ExecutorEvents", later(10));
        status.begins("ExamineRuns", later(30));
        assert_eq!(status.gets_on_until(later(90)), later(30), "it hangs in a step");
        progress.mark(later(95));
        assert_eq!(status.gets_on_until(later(100)), later(95), "a step of many parts takes long");
        assert_eq!(status.gets_on_until(later(55)), later(55), "the clock was set back");
        status.waits();
        assert_eq!(status.gets_on_until(later(500)), later(500));
    }

    #[test]
    fn it_does_not_get_on_while_one_cycle_fails_after_the_other() {
        let start = Timestamp::constant(1_800_000_000, 0);
        let later = |seconds| start + SignedDuration::from_secs(seconds);
        let status = LoopStatus::new(JobType::Scheduler, Progress::default());
        for failed in [60, 65, 70] {
            status.begins("ExecutorEvents", later(failed));
            status.begins("Rescan", later(failed + 1));
            status.fails();
        }
        status.begins("ExecutorEvents", later(75));
        assert_eq!(status.gets_on_until(later(76)), later(61));
        status.waits();
        status.begins("ExecutorEvents", later(80));
        assert_eq!(status.gets_on_until(later(90)), later(80), "one has come to its end");
    }
}
