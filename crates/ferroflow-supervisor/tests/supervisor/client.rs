//! A client of an Execution API that is reached over a socket.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ferroflow_execution::Refusal;
use ferroflow_execution::api::{
    AssetEventResponse, AssetProfile, AssetRef, AssetResponse, Breadcrumb, ConnectionResponse, CountedRuns,
    CountedStates, DagResponse, DagRun, EnterRunning, EventWindow, EventsOfAsset, ExecutionApi, Heartbeat,
    HitlDetail, Instances, NewXCom, PreviousInstance, PreviousRun, PreviousSuccess, PreviousTi, PutVariable,
    Reply, RunContext, SkippedTask, Slice, StateUpdate, TaskInstanceState, TestOutcome, TriggerRun,
    VariableKeys, VariableKeysPage, XComAddress, XComOf,
};
use ferroflow_model::Json;
use ferroflow_model::key::RunKey;
use ferroflow_model::state::RunState;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use uuid::Uuid;

/// Each request has a connection of its own: `{"token", "method", "params"}`, answered by an [`Answer`].
#[derive(Clone)]
pub(crate) struct SocketApi {
    pub(crate) socket: PathBuf,
    pub(crate) token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ok(Value),
    Refused { status: u16, detail: Value },
}

impl SocketApi {
    fn call<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Reply<'_, T> {
        Box::pin(async move {
            let request = json!({"token": self.token, "method": method, "params": params}).to_string();
            let stream =
                UnixStream::connect(&self.socket).await.map_err(|error| unavailable(error, false))?;
            let answer = exchange(stream, &request).await.map_err(|error| unavailable(error, true))?;
            match serde_json::from_str(&answer).map_err(|error| unavailable(error.into(), true))? {
                Answer::Ok(value) => Ok(serde_json::from_value(value).unwrap()),
                Answer::Refused { status, detail } => Err(Refusal::Api { status, detail }),
            }
        })
    }
}

async fn exchange(mut stream: UnixStream, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

fn unavailable(error: io::Error, is_outcome_unknown: bool) -> Refusal {
    Refusal::Unavailable { is_outcome_unknown, source: error.into() }
}

impl ExecutionApi for SocketApi {
    fn of_workload(&self, token: &str) -> Arc<dyn ExecutionApi> {
        Arc::new(Self { socket: self.socket.clone(), token: token.to_owned() })
    }

    fn run<'a>(&'a self, id: Uuid, request: &'a EnterRunning) -> Reply<'a, RunContext> {
        self.call("run", json!({"id": id, "request": request}))
    }

    fn heartbeat<'a>(&'a self, id: Uuid, beat: &'a Heartbeat) -> Reply<'a, ()> {
        self.call("heartbeat", json!({"id": id, "beat": beat}))
    }

    fn set_state<'a>(&'a self, id: Uuid, update: &'a StateUpdate, _: (&'a str, i32)) -> Reply<'a, ()> {
        self.call("set_state", json!({"id": id, "update": update}))
    }

    fn set_rendered_fields<'a>(&'a self, id: Uuid, fields: &'a Json) -> Reply<'a, ()> {
        self.call("set_rendered_fields", json!({"id": id, "fields": fields}))
    }

    fn set_rendered_map_index<'a>(&'a self, id: Uuid, name: &'a str) -> Reply<'a, ()> {
        self.call("set_rendered_map_index", json!({"id": id, "name": name}))
    }

    fn skip_downstream<'a>(&'a self, id: Uuid, tasks: &'a [SkippedTask]) -> Reply<'a, ()> {
        self.call("skip_downstream", json!({"id": id, "tasks": tasks}))
    }

    fn inactive_assets(&self, id: Uuid) -> Reply<'_, Vec<AssetProfile>> {
        self.call("inactive_assets", json!({"id": id}))
    }

    fn previous_success(&self, id: Uuid) -> Reply<'_, PreviousSuccess> {
        self.call("previous_success", json!({"id": id}))
    }

    fn reschedule_start_date(&self, id: Uuid) -> Reply<'_, Option<Timestamp>> {
        let found = self.call::<Option<String>>("reschedule_start_date", json!({"id": id}));
        Box::pin(async move { Ok(found.await?.map(|text| text.parse().unwrap())) })
    }

    fn task_breadcrumbs<'a>(&'a self, of: &'a RunKey) -> Reply<'a, Vec<Breadcrumb>> {
        self.call("task_breadcrumbs", json!({"of": of}))
    }

    fn instance_count<'a>(&'a self, of: &'a Instances, states: &'a CountedStates) -> Reply<'a, i64> {
        self.call("instance_count", json!({"of": of, "states": states}))
    }

    fn instance_states<'a>(&'a self, of: &'a Instances) -> Reply<'a, Vec<TaskInstanceState>> {
        self.call("instance_states", json!({"of": of}))
    }

    fn previous_instance<'a>(&'a self, request: &'a PreviousInstance) -> Reply<'a, Option<PreviousTi>> {
        self.call("previous_instance", json!({"request": request}))
    }

    fn variable<'a>(&'a self, key: &'a str) -> Reply<'a, Option<String>> {
        self.call("variable", json!({"key": key}))
    }

    fn variable_keys<'a>(&'a self, page: &'a VariableKeys) -> Reply<'a, VariableKeysPage> {
        self.call("variable_keys", json!({"page": page}))
    }

    fn put_variable<'a>(&'a self, request: &'a PutVariable) -> Reply<'a, ()> {
        self.call("put_variable", json!({"request": request}))
    }

    fn delete_variable<'a>(&'a self, key: &'a str) -> Reply<'a, ()> {
        self.call("delete_variable", json!({"key": key}))
    }

    fn connection<'a>(&'a self, conn_id: &'a str) -> Reply<'a, Option<ConnectionResponse>> {
        self.call("connection", json!({"conn_id": conn_id}))
    }

    fn xcom<'a>(&'a self, address: &'a XComAddress, of: XComOf) -> Reply<'a, Option<Json>> {
        self.call("xcom", json!({"address": address, "of": of}))
    }

    fn xcom_count<'a>(&'a self, address: &'a XComAddress) -> Reply<'a, i64> {
        self.call("xcom_count", json!({"address": address}))
    }

    fn xcom_item<'a>(&'a self, address: &'a XComAddress, offset: i64) -> Reply<'a, Option<Json>> {
        self.call("xcom_item", json!({"address": address, "offset": offset}))
    }

    fn xcom_slice<'a>(
        &'a self,
        address: &'a XComAddress,
        slice: Slice,
        include_prior_dates: bool,
    ) -> Reply<'a, Vec<Json>> {
        let params = json!({"address": address, "slice": slice, "include_prior_dates": include_prior_dates});
        self.call("xcom_slice", params)
    }

    fn set_xcom<'a>(&'a self, new: &'a NewXCom) -> Reply<'a, ()> {
        self.call("set_xcom", json!({"new": new}))
    }

    fn delete_xcom<'a>(&'a self, address: &'a XComAddress, map_index: i32) -> Reply<'a, ()> {
        self.call("delete_xcom", json!({"address": address, "map_index": map_index}))
    }

    fn dag<'a>(&'a self, dag_id: &'a str) -> Reply<'a, DagResponse> {
        self.call("dag", json!({"dag_id": dag_id}))
    }

    fn dag_run<'a>(&'a self, of: &'a RunKey) -> Reply<'a, DagRun> {
        self.call("dag_run", json!({"of": of}))
    }

    fn dag_run_state<'a>(&'a self, of: &'a RunKey) -> Reply<'a, RunState> {
        let found = self.call::<String>("dag_run_state", json!({"of": of}));
        Box::pin(async move { Ok(found.await?.parse().unwrap()) })
    }

    fn dag_run_count<'a>(&'a self, of: &'a CountedRuns) -> Reply<'a, i64> {
        self.call("dag_run_count", json!({"of": of}))
    }

    fn previous_run<'a>(&'a self, request: &'a PreviousRun) -> Reply<'a, Option<DagRun>> {
        self.call("previous_run", json!({"request": request}))
    }

    fn trigger_run<'a>(&'a self, request: &'a TriggerRun, _: Uuid) -> Reply<'a, ()> {
        self.call("trigger_run", json!({"request": request}))
    }

    fn clear_run<'a>(&'a self, of: &'a RunKey) -> Reply<'a, ()> {
        self.call("clear_run", json!({"of": of}))
    }

    fn asset<'a>(&'a self, of: &'a AssetRef) -> Reply<'a, AssetResponse> {
        self.call("asset", json!({"of": of}))
    }

    fn assets_by_alias<'a>(&'a self, alias: &'a str) -> Reply<'a, Vec<AssetResponse>> {
        self.call("assets_by_alias", json!({"alias": alias}))
    }

    fn asset_events<'a>(
        &'a self,
        of: &'a EventsOfAsset,
        window: EventWindow,
    ) -> Reply<'a, Vec<AssetEventResponse>> {
        self.call("asset_events", json!({"of": of, "window": window}))
    }

    fn asset_events_of_alias<'a>(
        &'a self,
        alias: &'a str,
        window: EventWindow,
    ) -> Reply<'a, Vec<AssetEventResponse>> {
        self.call("asset_events_of_alias", json!({"alias": alias, "window": window}))
    }

    fn task_state<'a>(&'a self, id: Uuid, key: &'a str) -> Reply<'a, String> {
        self.call("task_state", json!({"id": id, "key": key}))
    }

    fn set_task_state<'a>(
        &'a self,
        id: Uuid,
        key: &'a str,
        value: &'a Json,
        expires_at: Option<Timestamp>,
    ) -> Reply<'a, ()> {
        let expires_at = expires_at.map(|time| time.to_string());
        self.call("set_task_state", json!({"id": id, "key": key, "value": value, "expires_at": expires_at}))
    }

    fn delete_task_state<'a>(&'a self, id: Uuid, key: &'a str) -> Reply<'a, ()> {
        self.call("delete_task_state", json!({"id": id, "key": key}))
    }

    fn clear_task_state(&self, id: Uuid) -> Reply<'_, ()> {
        self.call("clear_task_state", json!({"id": id}))
    }

    fn asset_state<'a>(&'a self, of: &'a AssetRef, key: &'a str) -> Reply<'a, String> {
        self.call("asset_state", json!({"of": of, "key": key}))
    }

    fn set_asset_state<'a>(
        &'a self,
        of: &'a AssetRef,
        key: &'a str,
        value: &'a Json,
        _: Uuid,
    ) -> Reply<'a, ()> {
        self.call("set_asset_state", json!({"of": of, "key": key, "value": value}))
    }

    fn delete_asset_state<'a>(&'a self, of: &'a AssetRef, key: &'a str) -> Reply<'a, ()> {
        self.call("delete_asset_state", json!({"of": of, "key": key}))
    }

    fn clear_asset_state<'a>(&'a self, of: &'a AssetRef) -> Reply<'a, ()> {
        self.call("clear_asset_state", json!({"of": of}))
    }

    fn put_question<'a>(&'a self, question: &'a HitlDetail) -> Reply<'a, HitlDetail> {
        self.call("put_question", json!({"question": question}))
    }

    fn tested_connection(&self, id: Uuid) -> Reply<'_, ConnectionResponse> {
        self.call("tested_connection", json!({"id": id}))
    }

    fn end_connection_test<'a>(&'a self, id: Uuid, outcome: &'a TestOutcome) -> Reply<'a, ()> {
        self.call("end_connection_test", json!({"id": id, "outcome": outcome}))
    }
}
