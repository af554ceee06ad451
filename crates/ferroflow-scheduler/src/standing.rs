//! What a scheduler is doing, for whoever asks while it does it (SIGUSR2).
//!
//! Where its loop stands is told at once, also if it has stood there for long; everything else by the loop itself, as soon
//! as it waits for the next thing to do.

use std::sync::{Mutex, PoisonError};

use ferroflow_executor::Executor;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::chores;
use crate::cycle::Step;
use crate::scheduler::Scheduler;

/// Of how many runs and tasks each is told by name.
const MOST_NAMED: usize = 1000;

/// Where the loop of a scheduler stands.
#[derive(Debug, Default)]
pub struct Standing {
    /// The step, and since when; none while it waits.
    step: Mutex<Option<(Step, Timestamp)>>,
    asked: Notify,
}

impl Standing {
    /// Tells where the loop stands, and has it tell the rest.
    pub fn ask(&self) {
        let step = *self.step.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((step, since)) = step {
            let seconds = clock::now().duration_since(since).as_secs_f64();
            tracing::info!(?step, "state: the loop is in a step of a cycle that began {seconds:.3} s ago");
        } else {
            tracing::info!("state: the loop waits for something to do");
        }
        self.asked.notify_one();
    }

    pub(crate) fn begins(&self, step: Step, now: Timestamp) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, now));
    }

    pub(crate) fn waits(&self) {
        *self.step.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) async fn asked(&self) {
        self.asked.notified().await;
    }
}

impl<E: Executor, C: chores::Executors> Scheduler<E, C> {
    /// Tells what runs, what waits, and what is waited for.
    pub(crate) fn tell_state(&self, now: Timestamp) {
        tracing::info!(
            job_id = self.cx.job_id,
            runs = self.attended.len(),
            tasks_waiting_to_be_queued = self.queue.len(),
            events_not_looked_at = self.heard.len(),
            peers = self.surroundings.peers.len(),
            is_section_busy = self.is_section_busy,
            "state: the scheduler"
        );
        self.tell_executors();
        self.tell_runs(now);
        tracing::info!(
            next_look = %self.wants.look_at,
            next_run_due = ?self.wants.create_at.map(|at| at.to_string()),
            next_run_to_examine = ?self.attended.next_due().map(|at| at.to_string()),
            next_chore = ?self.chores.next().map(|at| at.to_string()),
            "state: what is waited for besides events"
        );
    }

    fn tell_executors(&self) {
        for slots in self.executors.slots() {
            let executor = slots.executor;
            let (slots, running) = (executor.slots, executor.occupied);
            tracing::info!(executor = %executor.module_path, slots, running, "state: an executor");
        }
        for (key, try_number, has_told) in self.executors.have().take(MOST_NAMED) {
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

    fn tell_runs(&self, now: Timestamp) {
        for (key, run) in self.attended.read().take(MOST_NAMED) {
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
