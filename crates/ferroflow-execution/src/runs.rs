//! Runs, and earlier runs.

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::{ScopedFutureExt as _, task_instance};
use ferroflow_model::key::RunKey;
use ferroflow_model::state::RunState;
use uuid::Uuid;

use crate::api::{CountedRuns, PreviousRun};
use crate::{Refusal, Service};

impl Service {
    /// The run before a date, in one state or in any.
    pub async fn previous_run(&self, request: &PreviousRun) -> Result<Option<DagRun>, Refusal> {
        let state: Option<RunState> = match request.state.as_deref().filter(|word| !word.is_empty()) {
            None => None,
            Some(word) => Some(word.parse().map_err(|_| Refusal::Invalid {
                kind: "GetPreviousDagRun",
                field: "state",
                value: format!("{word:?}"),
                expected: "give queued, running, success or failed",
            })?),
        };
        let PreviousRun { dag_id, logical_date, .. } = request;
        let found = self.db.read(|tx| {
            async move { dag_run::previous(tx, dag_id, *logical_date, state).await }.scope_boxed()
        });
        Ok(found.await?)
    }

    /// The last successful run before that of a task instance. None for an instance that is gone, or whose run
    /// has no logical date.
    pub async fn previous_success(&self, instance: Uuid) -> Result<Option<DagRun>, Refusal> {
        let found = self.db.read(|tx| {
            async move {
                let Some(instance) = task_instance::find(tx, instance).await? else { return Ok(None) };
                let run = dag_run::find(tx, &instance.key.dag_id, &instance.key.run_id).await?;
                let Some(date) = run.and_then(|run| run.logical_date) else { return Ok(None) };
                dag_run::previous(tx, &instance.key.dag_id, date, Some(RunState::Success)).await
            }
            .scope_boxed()
        });
        Ok(found.await?)
    }

    /// A run.
    pub async fn dag_run(&self, of: &RunKey) -> Result<DagRun, Refusal> {
        let RunKey { dag_id, run_id } = of;
        let found = self.db.read(|tx| async move { dag_run::find(tx, dag_id, run_id).await }.scope_boxed());
        found.await?.ok_or_else(|| no_run(of))
    }

    /// Where a run stands.
    pub async fn dag_run_state(&self, of: &RunKey) -> Result<RunState, Refusal> {
        let RunKey { dag_id, run_id } = of;
        let found =
            self.db.read(|tx| async move { dag_run::lookup::state(tx, dag_id, run_id).await }.scope_boxed());
        found.await?.ok_or_else(|| no_run(of))
    }

    /// How many runs there are of a kind.
    pub async fn dag_run_count(&self, of: &CountedRuns) -> Result<i64, Refusal> {
        let (dates, run_ids) = (of.logical_dates.as_deref(), of.run_ids.as_deref());
        let (dates, run_ids) = (dates.unwrap_or_default(), run_ids.unwrap_or_default());
        let states = of.states.as_deref().unwrap_or_default();
        let counted = self.db.read(|tx| {
            async move { dag_run::lookup::count(tx, &of.dag_id, dates, run_ids, states).await }.scope_boxed()
        });
        Ok(counted.await?)
    }
}

fn no_run(of: &RunKey) -> Refusal {
    let message = format!("Dag run with dag_id '{}' and run_id '{}' was not found", of.dag_id, of.run_id);
    Refusal::api(404, "not_found", message)
}
