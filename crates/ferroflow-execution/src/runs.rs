//! Runs, and earlier runs.

use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::{ScopedFutureExt as _, task_instance};
use ferroflow_model::state::RunState;
use rmpv::Value;
use uuid::Uuid;

use crate::message::{GetDrCount, GetPreviousDagRun, OfInstance, OfRun};
use crate::sdk::SdkVersion;
use crate::value::{body, json, map, optional, time};
use crate::{Answer, Refusal, Service, read};

impl Service {
    /// The run before a date, in one state or in any.
    pub async fn previous_run(&self, request: &GetPreviousDagRun) -> Result<Option<DagRun>, Refusal> {
        let state: Option<RunState> = match request.state.as_deref().filter(|word| !word.is_empty()) {
            None => None,
            Some(word) => Some(word.parse().map_err(|_| Refusal::Invalid {
                kind: "GetPreviousDagRun",
                field: "state",
                value: format!("{word:?}"),
                expected: "give queued, running, success or failed",
            })?),
        };
        let GetPreviousDagRun { dag_id, logical_date, .. } = request;
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
    pub async fn dag_run(&self, of: &OfRun) -> Result<DagRun, Refusal> {
        let OfRun { dag_id, run_id } = of;
        let found = self.db.read(|tx| async move { dag_run::find(tx, dag_id, run_id).await }.scope_boxed());
        found.await?.ok_or_else(|| no_run(of))
    }

    /// Where a run stands.
    pub async fn dag_run_state(&self, of: &OfRun) -> Result<RunState, Refusal> {
        let OfRun { dag_id, run_id } = of;
        let found =
            self.db.read(|tx| async move { dag_run::lookup::state(tx, dag_id, run_id).await }.scope_boxed());
        found.await?.ok_or_else(|| no_run(of))
    }

    /// How many runs there are of a kind.
    pub async fn dag_run_count(&self, of: &GetDrCount) -> Result<i64, Refusal> {
        let (dates, run_ids) = (of.logical_dates.as_deref(), of.run_ids.as_deref());
        let (dates, run_ids) = (dates.unwrap_or_default(), run_ids.unwrap_or_default());
        let states = of.states.as_deref().unwrap_or_default();
        let counted = self.db.read(|tx| {
            async move { dag_run::lookup::count(tx, &of.dag_id, dates, run_ids, states).await }.scope_boxed()
        });
        Ok(counted.await?)
    }

    pub(crate) async fn get_dag_run(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let mut run = run_value(self.dag_run(&read(kind, message)?).await?)?;
        sdk.narrow_run(&mut run);
        if let Value::Map(fields) = &mut run {
            fields.push(("type".into(), "DagRunResult".into()));
        }
        Ok(Answer::Body(run))
    }

    pub(crate) async fn get_dag_run_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let state = self.dag_run_state(&read(kind, message)?).await?;
        Ok(body("DagRunStateResult", [("state", state.as_str().into())]))
    }

    pub(crate) async fn get_dr_count(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let count = self.dag_run_count(&read(kind, message)?).await?;
        Ok(body("DRCount", [("count", count.into())]))
    }

    pub(crate) async fn get_previous_dag_run(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let found = self.previous_run(&read(kind, message)?).await?;
        let found = found.map(run_value).transpose()?.map(|mut run| {
            sdk.narrow_run(&mut run);
            run
        });
        Ok(body("PreviousDagRunResult", [("dag_run", optional(found))]))
    }

    pub(crate) async fn get_previous_success(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let OfInstance { ti_id } = read(kind, message)?;
        self.previous_success_of(ti_id).await
    }

    /// What is not known is left out.
    pub(crate) async fn previous_success_of(&self, instance: Uuid) -> Result<Answer, Refusal> {
        let mut fields = Vec::new();
        if let Some(run) = self.previous_success(instance).await? {
            let dates = [
                ("data_interval_start", run.data_interval_start),
                ("data_interval_end", run.data_interval_end),
                ("start_date", run.start_date),
                ("end_date", run.end_date),
            ];
            let known = dates.into_iter().filter(|(_, date)| date.is_some());
            fields.extend(known.map(|(name, date)| (Value::from(name), time(date))));
        }
        fields.push(("type".into(), "PrevSuccessfulDagRunResult".into()));
        Ok(Answer::Body(Value::Map(fields)))
    }
}

fn no_run(of: &OfRun) -> Refusal {
    let message = format!("Dag run with dag_id '{}' and run_id '{}' was not found", of.dag_id, of.run_id);
    Refusal::api(404, "not_found", message)
}

/// A run as user code sees it. The events that it consumed and its note are left out here, as Airflow does.
fn run_value(run: DagRun) -> Result<Value, Refusal> {
    let conf = run
        .conf
        .as_ref()
        .map(|conf| json(|| format!("conf of run {:?} of DAG {:?}", run.run_id, run.dag_id), conf));
    Ok(map([
        ("conf", optional(conf.transpose()?)),
        ("dag_id", run.dag_id.into()),
        ("run_id", run.run_id.into()),
        ("logical_date", time(run.logical_date)),
        ("data_interval_start", time(run.data_interval_start)),
        ("data_interval_end", time(run.data_interval_end)),
        ("run_after", time(Some(run.run_after))),
        ("start_date", time(run.start_date)),
        ("end_date", time(run.end_date)),
        ("clear_number", run.clear_number.into()),
        ("run_type", run.run_type.as_str().into()),
        ("state", run.state.as_str().into()),
        ("triggering_user_name", optional(run.triggering_user_name)),
        ("consumed_asset_events", Value::Array(Vec::new())),
        ("partition_key", optional(run.partition_key)),
        ("partition_date", time(run.partition_date)),
        ("note", Value::Nil),
        ("team_name", Value::Nil),
    ]))
}
