//! Listeners of plugins are told what has been committed.

use ferroflow_model::key::{RunKey, TaskInstanceKey};
use ferroflow_model::readiness::RunVerdict;
use ferroflow_python::listeners::{Happened, SchedulerListeners};

use crate::examine_runs::ExaminedRuns;
use crate::scheduler::Scheduler;
use crate::start_runs::StartedRuns;

impl Scheduler {
    /// With listeners, who are told of runs and of tasks that could not tell themselves.
    #[must_use]
    pub fn with_listeners(mut self, listeners: SchedulerListeners) -> Self {
        self.listeners = Some(listeners);
        self
    }

    /// The listeners, to be let go.
    pub fn take_listeners(&mut self) -> Option<SchedulerListeners> {
        self.listeners.take()
    }

    pub(crate) fn notify_started(&self, report: &StartedRuns) {
        for run in &report.started {
            let (dag_id, run_id) = (run.dag_id.clone(), run.run_id.clone());
            self.tell(Happened::RunRunning(RunKey { dag_id, run_id }));
        }
    }

    pub(crate) fn notify_ended(&self, report: &ExaminedRuns) {
        for (run, verdict) in &report.ended {
            self.notify_if(ended(run.clone(), *verdict));
        }
    }

    pub(crate) fn notify_task_failed(&self, key: &TaskInstanceKey, error: &str) {
        self.tell(Happened::TaskFailed {
            run: key.run(),
            task_id: key.task_id.clone(),
            map_index: key.map_index,
            error: error.to_owned(),
        });
    }

    fn notify_if(&self, happened: Option<Happened>) {
        if let Some(happened) = happened {
            self.tell(happened);
        }
    }

    fn tell(&self, happened: Happened) {
        if let Some(listeners) = &self.listeners {
            listeners.tell(happened);
        }
    }
}

/// What Airflow calls the end of a run.
fn ended(run: RunKey, verdict: RunVerdict) -> Option<Happened> {
    match verdict {
        RunVerdict::Success => Some(Happened::RunSuccess(run)),
        RunVerdict::TasksFailed => Some(Happened::RunFailed(run, "task_failure")),
        RunVerdict::TimedOut => Some(Happened::RunFailed(run, "timed_out")),
        RunVerdict::Deadlocked { .. } => Some(Happened::RunFailed(run, "all_tasks_deadlocked")),
        RunVerdict::Running | RunVerdict::NotBefore(_) => None,
    }
}
