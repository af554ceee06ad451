//! DAG runs and DAGs.

use ferroflow_model::key::RunKey;
use ferroflow_python::Answer;
use ferroflow_python::message::from_json;
use jiff::Timestamp;
use rmpv::Value;
use uuid::Uuid;

use super::client::Client;
use super::message::{GetDag, OfInstance};
use super::sdk::SdkVersion;
use super::value::{body, map, optional, time};
use super::{read, read_request};
use crate::Refusal;
use crate::api::{CountedRuns, DagRun, PreviousRun};

impl Client {
    pub(super) async fn get_dag_run(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let of: RunKey = read_request(kind, message)?;
        let mut run = run_value(self.api.dag_run(&of).await?);
        sdk.narrow_run(&mut run);
        if let Value::Map(fields) = &mut run {
            fields.push(("type".into(), "DagRunResult".into()));
        }
        Ok(Answer::Body(run))
    }

    pub(super) async fn get_dag_run_state(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let of: RunKey = read_request(kind, message)?;
        let state = self.api.dag_run_state(&of).await?;
        Ok(body("DagRunStateResult", [("state", state.as_str().into())]))
    }

    pub(super) async fn get_dr_count(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let of: CountedRuns = read_request(kind, message)?;
        let count = self.api.dag_run_count(&of).await?;
        Ok(body("DRCount", [("count", count.into())]))
    }

    pub(super) async fn get_previous_dag_run(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let request: PreviousRun = read_request(kind, message)?;
        let found = self.api.previous_run(&request).await?.map(run_value).map(|mut run| {
            sdk.narrow_run(&mut run);
            run
        });
        Ok(body("PreviousDagRunResult", [("dag_run", optional(found))]))
    }

    pub(super) async fn get_previous_success(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let OfInstance { ti_id } = read(kind, message)?;
        self.previous_success_of(ti_id).await
    }

    /// What is not known is left out.
    pub(super) async fn previous_success_of(&self, instance: Uuid) -> Result<Answer, Refusal> {
        let found = self.api.previous_success(instance).await?;
        let dates: [(&str, Option<Timestamp>); 4] = [
            ("data_interval_start", found.data_interval_start),
            ("data_interval_end", found.data_interval_end),
            ("start_date", found.start_date),
            ("end_date", found.end_date),
        ];
        let known = dates.into_iter().filter(|(_, date)| date.is_some());
        let mut fields: Vec<(Value, Value)> = known.map(|(name, date)| (name.into(), time(date))).collect();
        fields.push(("type".into(), "PrevSuccessfulDagRunResult".into()));
        Ok(Answer::Body(Value::Map(fields)))
    }

    pub(super) async fn get_dag(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetDag { dag_id } = read(kind, message)?;
        let dag = self.api.dag(&dag_id).await?;
        let tags = dag.tags.into_iter().map(Value::from).collect();
        let fields = [
            ("dag_id", dag.dag_id.into()),
            ("is_paused", dag.is_paused.into()),
            ("bundle_name", dag.bundle_name.into()),
            ("bundle_version", optional(dag.bundle_version)),
            ("relative_fileloc", optional(dag.relative_fileloc)),
            ("owners", optional(dag.owners)),
            ("tags", Value::Array(tags)),
            ("next_dagrun", time(dag.next_dagrun)),
        ];
        Ok(body("DagResult", fields))
    }
}

/// A run as user code sees it. The events that it consumed, its note and its team are left out here, as Airflow does.
fn run_value(run: DagRun) -> Value {
    map([
        ("conf", optional(run.conf.map(from_json))),
        ("dag_id", run.dag_id.into()),
        ("run_id", run.run_id.into()),
        ("logical_date", time(run.logical_date)),
        ("data_interval_start", time(run.data_interval_start)),
        ("data_interval_end", time(run.data_interval_end)),
        ("run_after", time(Some(run.run_after))),
        ("start_date", time(run.start_date)),
        ("end_date", time(run.end_date)),
        ("clear_number", run.clear_number.into()),
        ("run_type", run.run_type.into()),
        ("state", run.state.into()),
        ("triggering_user_name", optional(run.triggering_user_name)),
        ("consumed_asset_events", Value::Array(Vec::new())),
        ("partition_key", optional(run.partition_key)),
        ("partition_date", time(run.partition_date)),
        ("note", Value::Nil),
        ("team_name", Value::Nil),
    ])
}
