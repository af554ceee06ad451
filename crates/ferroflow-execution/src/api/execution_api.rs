//! The operations of the Task Execution API.

use std::pin::Pin;
use std::sync::Arc;

use ferroflow_model::Json;
use ferroflow_model::key::{RunKey, TaskInstanceKey};
use ferroflow_model::state::{RunState, TaskState};
use futures_util::future::join_all;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    AssetEventResponse, AssetProfile, AssetRef, AssetResponse, Breadcrumb, ConnectionResponse, CountedRuns,
    CountedStates, DagResponse, DagRun, Ended, EnterRunning, EventWindow, EventsOfAsset, Heartbeat,
    HeldCallback, HitlDetail, Instances, NewXCom, PreviousInstance, PreviousRun, PreviousSuccess, PreviousTi,
    Process, PutVariable, RunContext, SkippedTask, Slice, StateUpdate, TaskInstanceState, TestOutcome,
    TriggerRun, Unheard, UnreportedEnd, VariableKeys, VariableKeysPage, XComAddress, XComOf,
};
use crate::Refusal;

/// What an operation answers, or why it is refused.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// The operations that a supervisor and the requests of user code need, each refused with the API's status and reason.
///
/// Futures are boxed, so that it can be used as `Arc<dyn ExecutionApi>`: which API a supervisor speaks to is a choice of
/// configuration, and neither it nor an executor should have to be compiled, or named, for each. A box is nothing beside
/// what a request costs.
///
/// Operations with a body of their own here are not in Airflow's API. What they do is what Airflow's supervisor does over
/// HTTP; on the metadata database more is possible.
pub trait ExecutionApi: Send + Sync {
    /// The same API for one workload, which shows the token that came with it.
    fn of_workload(&self, token: &str) -> Arc<dyn ExecutionApi>;

    /// The same API for repeating a request whose row others had locked, where that is to wait for a turn, until there is
    /// a hurry. So many repeated requests do not take all connections to a database.
    fn in_turn(&self, _hurry: &CancellationToken) -> Option<Arc<dyn ExecutionApi>> {
        None
    }

    // Task instances, from start to end. Each is given by the id of its try.

    /// `PATCH /task-instances/{id}/run`: a queued task instance runs from now on. The same process may ask again.
    fn run<'a>(&'a self, id: Uuid, request: &'a EnterRunning) -> Reply<'a, RunContext>;

    /// `PUT /task-instances/{id}/heartbeat`.
    fn heartbeat<'a>(&'a self, id: Uuid, beat: &'a Heartbeat) -> Reply<'a, ()>;

    /// Heartbeats of all task instances that a host runs. Answers which of them were not taken.
    fn heartbeats<'a>(
        &'a self,
        hostname: &'a str,
        processes: &'a [Process],
    ) -> Reply<'a, Vec<(Process, Unheard)>> {
        Box::pin(async move {
            let beats = processes.iter().map(async |process| {
                let beat = Heartbeat { hostname: hostname.to_owned(), pid: process.pid };
                let refusal = self.heartbeat(process.id, &beat).await.err()?;
                Some((*process, Unheard::of(refusal)))
            });
            Ok(join_all(beats).await.into_iter().flatten().collect())
        })
    }

    /// Which of these are not to run any more, or not in these processes, and why. Looks between heartbeats, where that
    /// costs less than a heartbeat; over HTTP only heartbeats tell.
    fn not_to_run<'a>(
        &'a self,
        _hostname: &'a str,
        _processes: &'a [Process],
    ) -> Reply<'a, Vec<(Process, Refusal)>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// `PATCH /task-instances/{id}/state`, reported by a process on a host. Reporting the same again is no error.
    fn set_state<'a>(&'a self, id: Uuid, update: &'a StateUpdate, process: (&'a str, i32)) -> Reply<'a, ()>;

    /// A process ended without reporting a state. Answers the state that its task instance has now, if that is known.
    ///
    /// Over HTTP a failure is only reported if no try is left: else the scheduler finds the end among the events of its
    /// executor, and decides.
    fn fail_unreported<'a>(&'a self, end: &'a UnreportedEnd) -> Reply<'a, Option<TaskState>> {
        Box::pin(async move {
            if end.should_retry {
                return Ok(None);
            }
            let failed = StateUpdate::Failed(Ended { end_date: end.end_date, rendered_map_index: None });
            match self.set_state(end.id, &failed, (&end.hostname, end.pid)).await {
                Ok(()) => Ok(Some(TaskState::Failed)),
                // Others have decided.
                Err(refusal) if matches!(refusal.status(), Some(404 | 409)) => Ok(None),
                Err(refusal) => Err(refusal),
            }
        })
    }

    /// The process of a task instance that was not to run any more has ended.
    fn ended_unwanted<'a>(&'a self, _key: &'a TaskInstanceKey, _try_number: i32) -> Reply<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    // What a task instance says of itself, and asks.

    /// `PUT /task-instances/{id}/rtif`.
    fn set_rendered_fields<'a>(&'a self, id: Uuid, fields: &'a Json) -> Reply<'a, ()>;
    /// `PATCH /task-instances/{id}/rendered-map-index`.
    fn set_rendered_map_index<'a>(&'a self, id: Uuid, name: &'a str) -> Reply<'a, ()>;
    /// `PATCH /task-instances/{id}/skip-downstream`.
    fn skip_downstream<'a>(&'a self, id: Uuid, tasks: &'a [SkippedTask]) -> Reply<'a, ()>;
    /// `GET /task-instances/{id}/validate-inlets-and-outlets`: those that are inactive.
    fn inactive_assets(&self, id: Uuid) -> Reply<'_, Vec<AssetProfile>>;
    /// `GET /task-instances/{id}/previous-successful-dagrun`.
    fn previous_success(&self, id: Uuid) -> Reply<'_, PreviousSuccess>;
    /// `GET /task-reschedules/{id}/start_date`.
    fn reschedule_start_date(&self, id: Uuid) -> Reply<'_, Option<Timestamp>>;
    /// `GET /task-instances/breadcrumbs`.
    fn task_breadcrumbs<'a>(&'a self, of: &'a RunKey) -> Reply<'a, Vec<Breadcrumb>>;
    /// `GET /task-instances/count`.
    fn instance_count<'a>(&'a self, of: &'a Instances, states: &'a CountedStates) -> Reply<'a, i64>;
    /// `GET /task-instances/states`.
    fn instance_states<'a>(&'a self, of: &'a Instances) -> Reply<'a, Vec<TaskInstanceState>>;
    /// `GET /task-instances/previous/{dag_id}/{task_id}`.
    fn previous_instance<'a>(&'a self, request: &'a PreviousInstance) -> Reply<'a, Option<PreviousTi>>;

    // Secrets. The API looks in its secrets backend, its environment and its database.

    /// `GET /variables/{key}`: none for 404.
    fn variable<'a>(&'a self, key: &'a str) -> Reply<'a, Option<String>>;
    /// `GET /variables/keys`.
    fn variable_keys<'a>(&'a self, page: &'a VariableKeys) -> Reply<'a, VariableKeysPage>;
    /// `PUT /variables/{key}`.
    fn put_variable<'a>(&'a self, request: &'a PutVariable) -> Reply<'a, ()>;
    /// `DELETE /variables/{key}`.
    fn delete_variable<'a>(&'a self, key: &'a str) -> Reply<'a, ()>;
    /// `GET /connections/{id}`: none for 404.
    fn connection<'a>(&'a self, conn_id: &'a str) -> Reply<'a, Option<ConnectionResponse>>;

    // XComs: `/xcoms/{dag}/{run}/{task}/{key}`.

    /// `GET`: none for 404.
    fn xcom<'a>(&'a self, address: &'a XComAddress, of: XComOf) -> Reply<'a, Option<Json>>;
    /// `HEAD`: how many task instances have pushed one.
    fn xcom_count<'a>(&'a self, address: &'a XComAddress) -> Reply<'a, i64>;
    /// `GET …/item/{offset}`, by map index; a negative offset counts from the end. None for 404.
    fn xcom_item<'a>(&'a self, address: &'a XComAddress, offset: i64) -> Reply<'a, Option<Json>>;
    /// `GET …/slice`.
    fn xcom_slice<'a>(
        &'a self,
        address: &'a XComAddress,
        slice: Slice,
        include_prior_dates: bool,
    ) -> Reply<'a, Vec<Json>>;
    /// `POST`.
    fn set_xcom<'a>(&'a self, new: &'a NewXCom) -> Reply<'a, ()>;
    /// `DELETE`.
    fn delete_xcom<'a>(&'a self, address: &'a XComAddress, map_index: i32) -> Reply<'a, ()>;

    // DAGs and their runs.

    /// `GET /dags/{id}`.
    fn dag<'a>(&'a self, dag_id: &'a str) -> Reply<'a, DagResponse>;
    /// `GET /dag-runs/{dag}/{run}`.
    fn dag_run<'a>(&'a self, of: &'a RunKey) -> Reply<'a, DagRun>;
    /// `GET /dag-runs/{dag}/{run}/state`.
    fn dag_run_state<'a>(&'a self, of: &'a RunKey) -> Reply<'a, RunState>;
    /// `GET /dag-runs/count`.
    fn dag_run_count<'a>(&'a self, of: &'a CountedRuns) -> Reply<'a, i64>;
    /// `GET /dag-runs/previous`.
    fn previous_run<'a>(&'a self, request: &'a PreviousRun) -> Reply<'a, Option<DagRun>>;
    /// `POST /dag-runs/{dag}/{run}`, asked for by the task instance `caller`.
    fn trigger_run<'a>(&'a self, request: &'a TriggerRun, caller: Uuid) -> Reply<'a, ()>;
    /// `POST /dag-runs/{dag}/{run}/clear`.
    fn clear_run<'a>(&'a self, of: &'a RunKey) -> Reply<'a, ()>;

    // Assets.

    /// `GET /assets/by-name` and `/by-uri`.
    fn asset<'a>(&'a self, of: &'a AssetRef) -> Reply<'a, AssetResponse>;
    /// `GET /assets/by-alias`.
    fn assets_by_alias<'a>(&'a self, alias: &'a str) -> Reply<'a, Vec<AssetResponse>>;
    /// `GET /asset-events/by-asset`.
    fn asset_events<'a>(
        &'a self,
        of: &'a EventsOfAsset,
        window: EventWindow,
    ) -> Reply<'a, Vec<AssetEventResponse>>;
    /// `GET /asset-events/by-asset-alias`.
    fn asset_events_of_alias<'a>(
        &'a self,
        alias: &'a str,
        window: EventWindow,
    ) -> Reply<'a, Vec<AssetEventResponse>>;

    // State stores: `/store/ti/{id}[/{key}]` and `/store/asset/…`.

    /// `GET`: the value, as JSON.
    fn task_state<'a>(&'a self, id: Uuid, key: &'a str) -> Reply<'a, String>;
    /// `PUT`.
    fn set_task_state<'a>(
        &'a self,
        id: Uuid,
        key: &'a str,
        value: &'a Json,
        expires_at: Option<Timestamp>,
    ) -> Reply<'a, ()>;
    /// `DELETE` of a key.
    fn delete_task_state<'a>(&'a self, id: Uuid, key: &'a str) -> Reply<'a, ()>;
    /// `DELETE` of all keys.
    fn clear_task_state(&self, id: Uuid) -> Reply<'_, ()>;
    /// `GET`: the value, as JSON.
    fn asset_state<'a>(&'a self, of: &'a AssetRef, key: &'a str) -> Reply<'a, String>;
    /// `PUT`, by the task instance `writer`.
    fn set_asset_state<'a>(
        &'a self,
        of: &'a AssetRef,
        key: &'a str,
        value: &'a Json,
        writer: Uuid,
    ) -> Reply<'a, ()>;
    /// `DELETE` of a key.
    fn delete_asset_state<'a>(&'a self, of: &'a AssetRef, key: &'a str) -> Reply<'a, ()>;
    /// `DELETE` of all keys.
    fn clear_asset_state<'a>(&'a self, of: &'a AssetRef) -> Reply<'a, ()>;

    /// `POST /hitlDetails/{id}`: puts a question to people, unless it is put already.
    fn put_question<'a>(&'a self, question: &'a HitlDetail) -> Reply<'a, HitlDetail>;

    // Other workloads.

    /// `GET /connection-tests/{id}/connection`: what is to be tested. It can be had once.
    fn tested_connection(&self, id: Uuid) -> Reply<'_, ConnectionResponse>;
    /// `PATCH /connection-tests/{id}`.
    fn end_connection_test<'a>(&'a self, id: Uuid, outcome: &'a TestOutcome) -> Reply<'a, ()>;

    /// A callback runs in a process from now on. False if it is not queued any more: then it must not be called. The same
    /// process may ask again.
    ///
    /// Over HTTP the scheduler learns of callbacks from the events of its executor.
    fn begin_callback<'a>(&'a self, _callback: &'a HeldCallback) -> Reply<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    /// A callback has ended, or failed for this reason.
    fn end_callback<'a>(&'a self, _callback: &'a HeldCallback, _failure: Option<&'a str>) -> Reply<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
