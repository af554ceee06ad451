//! What a scheduler is doing, for an operator who asks while it does it (SIGUSR2), and for the health check.
//!
//! Where its loop stands is told at once, also if it has stood there for long; everything else by the loop itself, as soon
//! as it waits for the next thing to do.

use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_telemetry::clock;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::cycle::Step;
use crate::kept_events::WaitsFor;
use crate::scheduler::Scheduler;

/// Of how many runs and tasks each is told by name.
const MAX_NAMED: usize = 1000;

/// Where the loop of a scheduler stands.
#[derive(Debug)]
pub struct LoopStatus {
    /// The step, and since when; none while it waits.
    step: Mutex<Option<(Step, Timestamp)>>,
    /// Until when it got on before a cycle failed, if none has come to its end since.
    failing_since: Mutex<Option<Timestamp>>,
    progress: Progress,
    asked: Notify,
}

/// When a scheduler last got on in its cycle: with a step, or with one of the many things that a step does one after the
/// other.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Option<Timestamp>>>);

impl Progress {
    /// The next thing begins.
    pub(crate) fn advance(&self) {
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
    /// Of a scheduler that starts.
    pub(crate) fn new(progress: Progress) -> Self {
        let (step, failing_since) = (Mutex::default(), Mutex::default());
        Self { step, failing_since, progress, asked: Notify::new() }
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

    /// Tells where the loop stands, and has it tell the rest.
    pub fn ask(&self) {
        let step = *self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((step, since)) = step {
            let seconds = clock::now().duration_since(since).as_secs_f64();
            tracing::info!(?step, "state: the loop is in a step that began {seconds:.3} s ago");
        } else {
            tracing::info!("state: the loop waits for something to do");
        }
        self.asked.notify_one();
    }

    pub(crate) fn begins(&self, step: Step, now: Timestamp) {
        self.progress.mark(now);
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, now));
    }

    /// A cycle is done; it waits for the next.
    pub(crate) fn waits(&self) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.failing_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A cycle has failed.
    pub(crate) fn fails(&self) {
        let mut since = self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = since.or_else(|| self.progress.latest());
    }

    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }
}

impl Scheduler {
    /// Tells what runs, what waits, and what is waited for.
    pub(crate) fn log_state(&self, now: Timestamp) {
        tracing::info!(
            job_id = self.cx.job_id,
            runs = self.active_runs.len(),
            tasks_waiting_to_be_queued = self.queue.len(),
            events_not_looked_at = self.inbox.executor_events.len(),
            events_kept_for_bad_rows = self.inbox.kept_events.waiting_for(WaitsFor::Mending),
            events_kept_for_database = self.inbox.kept_events.waiting_for(WaitsFor::Database),
            peers = self.surroundings.peers.len(),
            questions_to_user_code = self.cx.run_settings.questions.unanswered(),
            is_section_busy = self.queue.busy_pause().is_some(),
            "state: the scheduler"
        );
        self.log_executors();
        self.log_runs(now);
        tracing::info!(
            next_rescan = %self.due.rescan_at,
            next_run_due = ?self.due.create_at.map(|at| at.to_string()),
            next_run_to_examine = ?self.active_runs.next_due().map(|at| at.to_string()),
            next_chore = ?self.chores.next().map(|at| at.to_string()),
            "state: what is waited for besides events"
        );
    }

    fn log_executors(&self) {
        for slots in self.executors.slots() {
            let executor = slots.executor;
            let (slots, running) = (executor.slots, executor.occupied);
            tracing::info!(executor = %executor.name.module_path, slots, running, "state: an executor");
        }
        self.executors.debug_dump();
        for (key, try_number, has_told) in self.executors.have().take(MAX_NAMED) {
            let (dag_id, run_id, task_id) = (&key.dag_id, &key.run_id, &key.task_id);
            let map_index = key.map_index;
            tracing::info!(
                dag_id,
                run_id,
                task_id,
                map_index,
                try_number,
                has_told,
                "state: a task at its executor"
            );
        }
    }

    fn log_runs(&self, now: Timestamp) {
        for (key, run) in self.active_runs.read().take(MAX_NAMED) {
            let (mut unfinished, mut all) = (0_usize, 0_usize);
            for instance in run.instances() {
                all += 1;
                unfinished += usize::from(ferroflow_model::state::is_unfinished(instance.state));
            }
            let due = run.next_due(now).map(|at| at.to_string());
            let (dag_id, run_id) = (&key.dag_id, &key.run_id);
            tracing::info!(dag_id, run_id, unfinished, all, ?due, "state: a run");
        }
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
        let loop_status = LoopStatus::new(progress.clone());
        assert_eq!(loop_status.gets_on_until(later(9)), later(9), "it has yet to begin");
        loop_status.begins(Step::ExecutorEvents, later(10));
        loop_status.begins(Step::ExamineRuns, later(30));
        assert_eq!(loop_status.gets_on_until(later(90)), later(30), "it hangs in a step");
        progress.mark(later(95));
        assert_eq!(loop_status.gets_on_until(later(100)), later(95), "a step of many parts takes long");
        assert_eq!(loop_status.gets_on_until(later(55)), later(55), "the clock was set back");
        loop_status.waits();
        assert_eq!(loop_status.gets_on_until(later(500)), later(500));
    }

    #[test]
    fn it_does_not_get_on_while_one_cycle_fails_after_the_other() {
        let start = Timestamp::constant(1_800_000_000, 0);
        let later = |seconds| start + SignedDuration::from_secs(seconds);
        let loop_status = LoopStatus::new(Progress::default());
        for failed in [60, 65, 70] {
            loop_status.begins(Step::ExecutorEvents, later(failed));
            loop_status.begins(Step::Rescan, later(failed + 1));
            loop_status.fails();
        }
        loop_status.begins(Step::ExecutorEvents, later(75));
        assert_eq!(loop_status.gets_on_until(later(76)), later(61));
        loop_status.waits();
        loop_status.begins(Step::ExecutorEvents, later(80));
        assert_eq!(loop_status.gets_on_until(later(90)), later(80), "one has come to its end");
    }
}
