//! What a scheduler knows, for an operator who asks (SIGUSR2). Where its loop stands, which is logged at once, is logged by
//! [`LoopStatus`](ferroflow_component::LoopStatus).

use jiff::Timestamp;

use crate::kept_events::WaitsFor;
use crate::scheduler::Scheduler;

/// How many runs and tasks are logged by name.
const MAX_NAMED: usize = 1000;

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
