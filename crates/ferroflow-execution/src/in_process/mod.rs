//! The Task Execution API in this process, on the metadata database: Airflow's `InProcessExecutionAPI`.

mod answers;

use std::sync::Arc;

use ferroflow_config::Settings;
use ferroflow_model::Json;
use ferroflow_model::key::{RunKey, TaskInstanceKey};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_operations::asset::Mappings;
use ferroflow_operations::dag_run::{self, BadRunIdPattern, RunMaking, trigger_by_task};
use ferroflow_python::{ForkServer, RunExtensions};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::api::{
    AssetEventResponse, AssetProfile, AssetRef, AssetResponse, Breadcrumb, ConnectionResponse, CountedRuns,
    CountedStates, DagResponse, DagRun, EnterRunning, EventWindow, EventsOfAsset, ExecutionApi, Heartbeat,
    HeldCallback, HitlDetail, Instances, NewXCom, PreviousInstance, PreviousRun, PreviousSuccess, PreviousTi,
    Process, PutVariable, Reply, RunContext, SkippedTask, Slice, StateUpdate, TaskInstanceState, TestOutcome,
    TriggerRun, Unheard, UnreportedEnd, VariableKeys, VariableKeysPage, XComAddress, XComOf,
};
use crate::{Host, LOCK_PATIENCE, Refusal, Service};

/// The Task Execution API in this process.
#[derive(Clone)]
pub struct InProcessApi {
    service: Service,
    /// How runs are made that tasks ask for. Without it, such requests are refused.
    making: Option<RunMaking>,
    /// What Python has said about the partitions of a task's outlets: it need not be asked again when the state is
    /// reported again.
    mappings: Arc<Mappings>,
}

impl InProcessApi {
    /// For user code that asks for no runs: DAG files, callbacks.
    pub fn new(service: Service) -> Self {
        Self { service, making: None, mappings: Arc::default() }
    }

    #[must_use]
    pub fn with_run_making(self, making: RunMaking) -> Self {
        Self { making: Some(making), ..self }
    }

    /// For supervisors, which wait in the database for no row that others have locked: there are more of them than
    /// connections.
    pub fn for_supervisors(
        service: Service,
        python: &ForkServer,
        settings: &Settings,
        host: &Host,
    ) -> Result<Self, BadRunIdPattern> {
        let RunExtensions { timetables, rules } = RunExtensions::new(python, settings);
        let making =
            RunMaking::new(settings, host.user.clone(), Some(Arc::clone(&timetables)))?.with_rules(rules);
        let db = service.db.with_lock_patience(LOCK_PATIENCE);
        Ok(Self::new(Service { db, timetables: Some(timetables), ..service }).with_run_making(making))
    }

    fn making(&self) -> Result<&RunMaking, Refusal> {
        self.making.as_ref().ok_or(Refusal::Unhandled)
    }
}

impl ExecutionApi for InProcessApi {
    fn of_workload(&self, _token: &str) -> Arc<dyn ExecutionApi> {
        Arc::new(Self { mappings: Arc::default(), ..self.clone() })
    }

    fn in_turn(&self, hurry: &CancellationToken) -> Option<Arc<dyn ExecutionApi>> {
        let service = Service { db: self.service.db.in_turn(hurry), ..self.service.clone() };
        Some(Arc::new(Self { service, ..self.clone() }))
    }

    fn run<'a>(&'a self, id: Uuid, request: &'a EnterRunning) -> Reply<'a, RunContext> {
        Box::pin(self.service.run(id, request))
    }

    fn heartbeat<'a>(&'a self, id: Uuid, beat: &'a Heartbeat) -> Reply<'a, ()> {
        Box::pin(self.service.heartbeat(id, beat))
    }

    /// One statement for all of them. Why a row does not take it, [`not_to_run`](ExecutionApi::not_to_run) finds out.
    fn heartbeats<'a>(
        &'a self,
        hostname: &'a str,
        processes: &'a [Process],
    ) -> Reply<'a, Vec<(Process, Unheard)>> {
        Box::pin(async move {
            let unheard = self.service.beat(hostname, &pairs(processes)).await?;
            Ok(unheard.into_iter().map(|(id, pid)| (Process { id, pid }, Unheard::NotTaken)).collect())
        })
    }

    fn not_to_run<'a>(
        &'a self,
        hostname: &'a str,
        processes: &'a [Process],
    ) -> Reply<'a, Vec<(Process, Refusal)>> {
        Box::pin(async move {
            let refused = self.service.no_longer_running_as(hostname, &pairs(processes)).await?;
            Ok(refused.into_iter().map(|(id, pid, refusal)| (Process { id, pid }, refusal)).collect())
        })
    }

    fn set_state<'a>(&'a self, id: Uuid, update: &'a StateUpdate, process: (&'a str, i32)) -> Reply<'a, ()> {
        Box::pin(async move {
            self.service.set_state_of_process(id, update, process, &self.mappings).await.map(drop)
        })
    }

    /// The scheduler's answer to such an end is given at once: callbacks and the next try need not wait for it.
    fn fail_unreported<'a>(&'a self, end: &'a UnreportedEnd) -> Reply<'a, Option<TaskState>> {
        Box::pin(async move {
            let outcome = self.service.fail_unreported(end.id, end.try_number, &end.reason).await?;
            Ok(outcome.new_state().flatten())
        })
    }

    fn ended_unwanted<'a>(&'a self, key: &'a TaskInstanceKey, try_number: i32) -> Reply<'a, ()> {
        Box::pin(self.service.ended_unwanted(key, try_number))
    }

    fn set_rendered_fields<'a>(&'a self, id: Uuid, fields: &'a Json) -> Reply<'a, ()> {
        Box::pin(self.service.rendered_fields(id, fields))
    }

    fn set_rendered_map_index<'a>(&'a self, id: Uuid, name: &'a str) -> Reply<'a, ()> {
        Box::pin(self.service.set_rendered_map_index(id, name))
    }

    fn skip_downstream<'a>(&'a self, id: Uuid, tasks: &'a [SkippedTask]) -> Reply<'a, ()> {
        Box::pin(self.service.skip_downstream(id, tasks))
    }

    fn inactive_assets(&self, id: Uuid) -> Reply<'_, Vec<AssetProfile>> {
        Box::pin(self.service.validate_inlets_and_outlets(id))
    }

    fn previous_success(&self, id: Uuid) -> Reply<'_, PreviousSuccess> {
        Box::pin(async move { Ok(answers::previous_success(self.service.previous_success(id).await?)) })
    }

    fn reschedule_start_date(&self, id: Uuid) -> Reply<'_, Option<Timestamp>> {
        Box::pin(self.service.reschedule_start_date(id))
    }

    fn task_breadcrumbs<'a>(&'a self, of: &'a RunKey) -> Reply<'a, Vec<Breadcrumb>> {
        Box::pin(async move {
            let found = self.service.task_breadcrumbs(&of.dag_id, &of.run_id).await?;
            Ok(found.into_iter().map(answers::breadcrumb).collect())
        })
    }

    fn instance_count<'a>(&'a self, of: &'a Instances, states: &'a CountedStates) -> Reply<'a, i64> {
        Box::pin(self.service.instance_count(of, states))
    }

    fn instance_states<'a>(&'a self, of: &'a Instances) -> Reply<'a, Vec<TaskInstanceState>> {
        Box::pin(async move {
            let found = self.service.instance_states(of).await?;
            Ok(found.into_iter().map(answers::instance_state).collect())
        })
    }

    fn previous_instance<'a>(&'a self, request: &'a PreviousInstance) -> Reply<'a, Option<PreviousTi>> {
        Box::pin(async move { Ok(self.service.previous_instance(request).await?.map(answers::previous_ti)) })
    }

    fn variable<'a>(&'a self, key: &'a str) -> Reply<'a, Option<String>> {
        Box::pin(async move { Ok(self.service.secrets().variable(key).await?) })
    }

    fn variable_keys<'a>(&'a self, page: &'a VariableKeys) -> Reply<'a, VariableKeysPage> {
        Box::pin(async move {
            let (total_entries, keys) = self.service.variable_keys(page).await?;
            Ok(VariableKeysPage { keys, total_entries })
        })
    }

    fn put_variable<'a>(&'a self, request: &'a PutVariable) -> Reply<'a, ()> {
        Box::pin(self.service.put_variable(request))
    }

    fn delete_variable<'a>(&'a self, key: &'a str) -> Reply<'a, ()> {
        Box::pin(async move { self.service.delete_variable(key).await.map(drop) })
    }

    fn connection<'a>(&'a self, conn_id: &'a str) -> Reply<'a, Option<ConnectionResponse>> {
        Box::pin(
            async move { Ok(self.service.secrets().connection(conn_id).await?.map(answers::connection)) },
        )
    }

    fn xcom<'a>(&'a self, address: &'a XComAddress, of: XComOf) -> Reply<'a, Option<Json>> {
        Box::pin(self.service.xcom(address, of))
    }

    fn xcom_count<'a>(&'a self, address: &'a XComAddress) -> Reply<'a, i64> {
        Box::pin(self.service.xcom_count(address))
    }

    fn xcom_item<'a>(&'a self, address: &'a XComAddress, offset: i64) -> Reply<'a, Option<Json>> {
        Box::pin(self.service.xcom_item(address, offset))
    }

    fn xcom_slice<'a>(
        &'a self,
        address: &'a XComAddress,
        slice: Slice,
        include_prior_dates: bool,
    ) -> Reply<'a, Vec<Json>> {
        Box::pin(self.service.xcom_slice(address, slice, include_prior_dates))
    }

    fn set_xcom<'a>(&'a self, new: &'a NewXCom) -> Reply<'a, ()> {
        Box::pin(self.service.set_xcom(new))
    }

    fn delete_xcom<'a>(&'a self, address: &'a XComAddress, map_index: i32) -> Reply<'a, ()> {
        Box::pin(self.service.delete_xcom(address, map_index))
    }

    fn dag<'a>(&'a self, dag_id: &'a str) -> Reply<'a, DagResponse> {
        Box::pin(self.service.dag(dag_id))
    }

    fn dag_run<'a>(&'a self, of: &'a RunKey) -> Reply<'a, DagRun> {
        Box::pin(async move { answers::dag_run(self.service.dag_run(of).await?) })
    }

    fn dag_run_state<'a>(&'a self, of: &'a RunKey) -> Reply<'a, RunState> {
        Box::pin(self.service.dag_run_state(of))
    }

    fn dag_run_count<'a>(&'a self, of: &'a CountedRuns) -> Reply<'a, i64> {
        Box::pin(self.service.dag_run_count(of))
    }

    fn previous_run<'a>(&'a self, request: &'a PreviousRun) -> Reply<'a, Option<DagRun>> {
        Box::pin(async move { self.service.previous_run(request).await?.map(answers::dag_run).transpose() })
    }

    fn trigger_run<'a>(&'a self, request: &'a TriggerRun, caller: Uuid) -> Reply<'a, ()> {
        Box::pin(async move {
            let making = self.making()?;
            let (secrets, request) = (self.service.secrets(), answers::requested_run(request));
            Ok(trigger_by_task(&secrets, making, &request, caller).await?)
        })
    }

    fn clear_run<'a>(&'a self, of: &'a RunKey) -> Reply<'a, ()> {
        Box::pin(async move {
            let making = self.making()?;
            Ok(dag_run::clear(&self.service.db, making, &of.dag_id, &of.run_id).await?)
        })
    }

    fn asset<'a>(&'a self, of: &'a AssetRef) -> Reply<'a, AssetResponse> {
        Box::pin(async move { Ok(answers::asset(self.service.asset(of).await?)) })
    }

    fn assets_by_alias<'a>(&'a self, alias: &'a str) -> Reply<'a, Vec<AssetResponse>> {
        Box::pin(async move {
            let found = self.service.assets_by_alias(alias).await?;
            Ok(found.into_iter().map(answers::asset).collect())
        })
    }

    fn asset_events<'a>(
        &'a self,
        of: &'a EventsOfAsset,
        window: EventWindow,
    ) -> Reply<'a, Vec<AssetEventResponse>> {
        Box::pin(async move {
            let (name, uri) = (of.name.as_deref(), of.uri.as_deref());
            let found = self.service.asset_events(name, uri, answers::window(window)).await?;
            Ok(answers::asset_events(found))
        })
    }

    fn asset_events_of_alias<'a>(
        &'a self,
        alias: &'a str,
        window: EventWindow,
    ) -> Reply<'a, Vec<AssetEventResponse>> {
        Box::pin(async move {
            let found = self.service.asset_events_of_alias(alias, answers::window(window)).await?;
            Ok(answers::asset_events(found))
        })
    }

    fn task_state<'a>(&'a self, id: Uuid, key: &'a str) -> Reply<'a, String> {
        Box::pin(self.service.task_state(id, key))
    }

    fn set_task_state<'a>(
        &'a self,
        id: Uuid,
        key: &'a str,
        value: &'a Json,
        expires_at: Option<Timestamp>,
    ) -> Reply<'a, ()> {
        Box::pin(self.service.set_task_state(id, key, value, expires_at))
    }

    fn delete_task_state<'a>(&'a self, id: Uuid, key: &'a str) -> Reply<'a, ()> {
        Box::pin(self.service.delete_task_state(id, key))
    }

    fn clear_task_state(&self, id: Uuid) -> Reply<'_, ()> {
        Box::pin(self.service.clear_task_state(id))
    }

    fn asset_state<'a>(&'a self, of: &'a AssetRef, key: &'a str) -> Reply<'a, String> {
        Box::pin(self.service.asset_state(of, key))
    }

    fn set_asset_state<'a>(
        &'a self,
        of: &'a AssetRef,
        key: &'a str,
        value: &'a Json,
        writer: Uuid,
    ) -> Reply<'a, ()> {
        Box::pin(self.service.set_asset_state(of, key, value, writer))
    }

    fn delete_asset_state<'a>(&'a self, of: &'a AssetRef, key: &'a str) -> Reply<'a, ()> {
        Box::pin(self.service.delete_asset_state(of, key))
    }

    fn clear_asset_state<'a>(&'a self, of: &'a AssetRef) -> Reply<'a, ()> {
        Box::pin(self.service.clear_asset_state(of))
    }

    fn put_question<'a>(&'a self, question: &'a HitlDetail) -> Reply<'a, HitlDetail> {
        Box::pin(async move {
            let put = self.service.put_question(&answers::question(question)).await?;
            Ok(answers::hitl_detail(put))
        })
    }

    fn tested_connection(&self, id: Uuid) -> Reply<'_, ConnectionResponse> {
        Box::pin(async move { Ok(answers::connection(self.service.tested_connection(id).await?)) })
    }

    fn end_connection_test<'a>(&'a self, id: Uuid, outcome: &'a TestOutcome) -> Reply<'a, ()> {
        Box::pin(self.service.end_connection_test(id, outcome))
    }

    fn begin_callback<'a>(&'a self, callback: &'a HeldCallback) -> Reply<'a, bool> {
        Box::pin(async move {
            let HeldCallback { id, job_id, .. } = *callback;
            let Some(process) = answers::holder_process(callback) else { return Ok(false) };
            Ok(self.service.callback_begins(id, job_id, process).await?.is_some())
        })
    }

    fn end_callback<'a>(&'a self, callback: &'a HeldCallback, failure: Option<&'a str>) -> Reply<'a, ()> {
        Box::pin(async move {
            let callback = answers::callback_in_hand(callback);
            let noted = match failure {
                None => self.service.callback_succeeded(&callback).await,
                Some(reason) => self.service.callback_failed(&callback, reason).await,
            };
            noted.map(drop)
        })
    }
}

fn pairs(processes: &[Process]) -> Vec<(Uuid, i32)> {
    processes.iter().map(|process| (process.id, process.pid)).collect()
}
