//! Chores that are due are done, and what they found is acted on.

use std::time::Duration;

use ferroflow_db::dag_run::ClaimedRun;
use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use jiff::Timestamp;

use crate::active_runs::RunKey;
use crate::chores::{self, FollowUp, Given, Report};
use crate::scheduler::Scheduler;

impl Scheduler {
    /// Does the chores that are due. The failure of one is logged, and it is done again when it is due.
    pub(crate) async fn do_chores(&mut self, now: Timestamp) -> Vec<(&'static str, Box<dyn Report>)> {
        let mut reports = Vec::new();
        for chore in self.chores.due(now) {
            self.cx.progress.gets_on();
            let took = Stopwatch::start();
            let watching_since = self.chores.watching_since(now);
            let given = Given { cx: &self.cx, executors: self.executors.set(), now, watching_since };
            match chores::run(chore, given).await {
                Ok(report) => {
                    let follow_up = report.follow_up();
                    self.chores.ended(chore, Some(&follow_up), after(now, took));
                    self.follow_up(follow_up, now);
                    reports.push((chore, report));
                }
                Err(error) => {
                    tracing::error!(
                        chore,
                        "chore failed; it is done again when it is due: {}",
                        chain(&error)
                    );
                    self.chores.ended(chore, None, after(now, took));
                }
            }
        }
        reports
    }

    fn follow_up(&mut self, follow_up: FollowUp, now: Timestamp) {
        for id in follow_up.terminate {
            self.executors.terminate(id);
        }
        for (key, reason) in &follow_up.failed {
            self.listeners.task_failed(key, reason);
        }
        for key in &follow_up.changed {
            self.active_runs.forget(&key.run());
        }
        for ClaimedRun { id, dag_id, run_id, .. } in follow_up.held_runs {
            self.active_runs.track_held(RunKey { dag_id, run_id }, id);
        }
        for task in follow_up.adopt {
            self.executors.adopt(task);
        }
        for (executor, workload) in follow_up.hand_over {
            self.executors.submit_to(executor.as_deref(), workload);
        }
        if follow_up.rescan {
            self.due.rescan_by(now);
        }
    }
}

/// When something has ended that began at a time. What takes less than a second takes no time.
fn after(began: Timestamp, took: Stopwatch) -> Timestamp {
    began.checked_add(Duration::from_secs(took.elapsed().as_secs())).unwrap_or(began)
}
