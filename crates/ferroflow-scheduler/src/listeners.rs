//! Listeners of plugins are told what has been committed.

use ferroflow_model::key::{RunKey, TaskInstanceKey};
use ferroflow_model::readiness::RunVerdict;
use ferroflow_python::listeners::{Happened, SchedulerListeners};

use crate::start_runs::Started;

/// The listeners of plugins, if there are any.
#[derive(Default)]
pub(crate) struct Listeners(Option<SchedulerListeners>);

impl Listeners {
    pub(crate) fn set(&mut self, listeners: SchedulerListeners) {
        self.0 = Some(listeners);
    }

    pub(crate) fn take(&mut self) -> Option<SchedulerListeners> {
        self.0.take()
    }

    pub(crate) fn runs_started(&self, started: &[Started]) {
        for run in started {
            let (dag_id, run_id) = (run.dag_id.clone(), run.run_id.clone());
            self.tell(Happened::RunRunning(RunKey { dag_id, run_id }));
        }
    }

    pub(crate) fn runs_ended(&self, runs: &[(RunKey, RunVerdict)]) {
        let ended = runs.iter().filter_map(|(run, verdict)| ended(run.clone(), *verdict));
        ended.for_each(|happened| self.tell(happened));
    }

    /// A task has failed that could not say so itself.
    pub(crate) fn task_failed(&self, key: &TaskInstanceKey, error: &str) {
        self.tell(Happened::TaskFailed {
            run: key.run(),
            task_id: key.task_id.clone(),
            map_index: key.map_index,
            error: error.to_owned(),
        });
    }

    fn tell(&self, happened: Happened) {
        if let Some(listeners) = &self.0 {
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
