//! Chores that are due are done, and what they found is acted on.

use std::time::Duration;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_executor::{TestConnection, Workload};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use jiff::Timestamp;

use crate::active_runs::RunKey;
use crate::chores::{self, Chore, ExecutorCallback, Report};
use crate::scheduler::Scheduler;

/// Why a try has ended that was not heard of.
const SILENT: &str = "It was not heard of for longer than [scheduler] task_instance_heartbeat_timeout.";

impl Scheduler {
    /// Does the chores that are due. One that fails is told of, and done again when it is due.
    pub(crate) async fn do_chores(&mut self, now: Timestamp) -> Vec<(Chore, Report)> {
        let mut reports = Vec::new();
        for chore in self.chores.due(now) {
            self.cx.progress.gets_on();
            let took = Stopwatch::start();
            let watching_since = self.chores.watching_since(now);
            match chores::run(chore, &self.cx, now, watching_since, self.executors.set()).await {
                Ok(report) => {
                    self.act_on(&report, now);
                    self.chores.ended(chore, Some(&report), after(now, took));
                    reports.push((chore, report));
                }
                Err(error) => {
                    tracing::error!(chore = chore.name(), "a chore has failed: {}", chain(&error));
                    self.chores.ended(chore, None, after(now, took));
                }
            }
        }
        reports
    }

    fn act_on(&mut self, report: &Report, now: Timestamp) {
        match report {
            Report::Heartbeats(found) => {
                for (id, key, _) in &found.ended {
                    self.executors.terminate(*id);
                    self.notify_task_failed(key, SILENT);
                    self.read_again(key);
                }
            }
            Report::Stuck(found) => {
                for (id, key) in found.taken_back.iter().chain(&found.failed) {
                    self.executors.terminate(*id);
                    self.read_again(key);
                }
            }
            Report::Orphans(found) => {
                for key in found.reset.iter().chain(&found.settled) {
                    self.read_again(key);
                }
                for task in &found.at_executors {
                    self.executors.adopt(task.clone());
                }
            }
            Report::Deferred(found) => found.done.iter().for_each(|key| self.read_again(key)),
            Report::AwaitingInput(found) => {
                found.answered.iter().chain(&found.unanswered).for_each(|key| self.read_again(key));
            }
            Report::Paused(runs) => {
                for run in runs {
                    let (dag_id, run_id) = (run.dag_id.clone(), run.run_id.clone());
                    self.active_runs.track_held(RunKey { dag_id, run_id }, run.id);
                }
            }
            Report::ExecutorCallbacks(found) => {
                for ExecutorCallback { executor, workload } in &found.queued {
                    let workload = Workload::ExecuteCallback(workload.clone());
                    self.executors.submit_to(executor.as_deref(), workload);
                }
                return;
            }
            Report::ConnectionTests(found) => {
                for test in &found.queued {
                    let (id, connection_id) = (test.id, test.connection_id.clone());
                    let workload = Workload::TestConnection(TestConnection { id, connection_id });
                    self.executors.submit_to(test.executor.as_deref(), workload);
                }
                return;
            }
            _ => return,
        }
        // Others may have become ready with it, and runs be left to look after.
        self.due_steps.look_at = self.due_steps.look_at.min(now);
    }

    fn read_again(&mut self, key: &TaskInstanceKey) {
        self.active_runs.forget(&key.run());
    }
}

/// When something has ended that began at a time. What takes less than a second takes no time.
fn after(began: Timestamp, took: Stopwatch) -> Timestamp {
    began.checked_add(Duration::from_secs(took.elapsed().as_secs())).unwrap_or(began)
}
