//! Rows as the API's models.

use ferroflow_db::asset::FoundAsset;
use ferroflow_db::asset::event::Window;
use ferroflow_db::callback::due::{Holder, HolderProcess, QueuedCallback};
use ferroflow_db::connection::Connection;
use ferroflow_db::dag_run::DagRun as DagRunRow;
use ferroflow_db::hitl_detail::Question;
use ferroflow_db::task_instance::lookup::{EarlierInstance, InstanceState};
use ferroflow_db::task_instance::siblings;
use ferroflow_model::state::CallbackState;
use ferroflow_operations::dag_run::RequestedRun;

use crate::api::{
    AssetEventResponse, AssetResponse, Breadcrumb, ConnectionResponse, CreatedRun, DagRun, EventWindow,
    HeldCallback, HitlDetail, PreviousSuccess, PreviousTi, TaskInstanceState, TriggerRun,
};
use crate::{AssetEvents, Refusal};

pub(super) fn dag_run(run: DagRunRow) -> Result<DagRun, Refusal> {
    let conf = run.conf.as_ref().map(|conf| serde_json::from_str(&conf.standard_text())).transpose();
    let conf = conf.map_err(|error| Refusal::Stored {
        what: format!("conf of run {:?} of DAG {:?}", run.run_id, run.dag_id),
        source: error.into(),
    })?;
    Ok(DagRun {
        conf,
        dag_id: run.dag_id,
        run_id: run.run_id,
        logical_date: run.logical_date,
        data_interval_start: run.data_interval_start,
        data_interval_end: run.data_interval_end,
        run_after: run.run_after,
        start_date: run.start_date,
        end_date: run.end_date,
        clear_number: run.clear_number,
        run_type: run.run_type.as_str().to_owned(),
        state: run.state.as_str().to_owned(),
        triggering_user_name: run.triggering_user_name,
        // Airflow leaves these out where a run is asked for.
        consumed_asset_events: Vec::new(),
        partition_key: run.partition_key,
        partition_date: run.partition_date,
        note: None,
        team_name: None,
    })
}

pub(super) fn previous_success(run: Option<DagRunRow>) -> PreviousSuccess {
    run.map_or_else(PreviousSuccess::default, |run| PreviousSuccess {
        data_interval_start: run.data_interval_start,
        data_interval_end: run.data_interval_end,
        start_date: run.start_date,
        end_date: run.end_date,
    })
}

pub(super) fn requested_run(request: &TriggerRun) -> RequestedRun {
    let TriggerRun { dag_id, run_id, logical_date, run_after, conf, note } = request.clone();
    RequestedRun { dag_id, run_id, logical_date, run_after, conf, partition_key: None, note }
}

pub(super) fn breadcrumb(found: siblings::Breadcrumb) -> Breadcrumb {
    let siblings::Breadcrumb { task_id, map_index, state, operator, duration } = found;
    Breadcrumb { task_id, map_index, state, operator, duration }
}

pub(super) fn instance_state(found: InstanceState) -> TaskInstanceState {
    let InstanceState { run_id, task_id, map_index, state } = found;
    TaskInstanceState { run_id, task_id, map_index, state }
}

pub(super) fn previous_ti(found: EarlierInstance) -> PreviousTi {
    PreviousTi {
        task_id: found.key.task_id,
        dag_id: found.key.dag_id,
        run_id: found.key.run_id,
        logical_date: found.logical_date,
        start_date: found.start_date,
        end_date: found.end_date,
        state: found.state,
        try_number: found.try_number,
        map_index: found.key.map_index,
        duration: found.duration,
    }
}

pub(super) fn connection(found: Connection) -> ConnectionResponse {
    ConnectionResponse {
        conn_id: found.conn_id,
        conn_type: found.conn_type,
        host: found.host,
        schema: found.schema,
        login: found.login,
        password: found.password,
        port: found.port,
        extra: found.extra,
    }
}

pub(super) fn asset(found: FoundAsset) -> AssetResponse {
    let FoundAsset { name, uri, group, extra } = found;
    AssetResponse { name, uri, group, extra }
}

pub(super) fn window(window: EventWindow) -> Window {
    let EventWindow { after, before, limit, ascending } = window;
    Window { after, before, limit, ascending }
}

pub(super) fn asset_events(found: AssetEvents) -> Vec<AssetEventResponse> {
    let AssetEvents { events, runs } = found;
    let events = events.into_iter().map(|event| {
        let created = runs.iter().filter(|run| run.event_id == event.id).cloned().map(|run| CreatedRun {
            run_id: run.run_id,
            dag_id: run.dag_id,
            logical_date: run.logical_date,
            start_date: run.start_date,
            end_date: run.end_date,
            state: run.state,
            data_interval_start: run.data_interval_start,
            data_interval_end: run.data_interval_end,
            partition_key: run.partition_key,
        });
        AssetEventResponse {
            id: event.id,
            timestamp: event.timestamp,
            extra: event.extra,
            asset: asset(event.asset),
            created_dagruns: created.collect(),
            source_task_id: event.source_task_id,
            source_dag_id: event.source_dag_id,
            source_run_id: event.source_run_id,
            source_map_index: event.source_map_index,
            partition_key: event.partition_key,
        }
    });
    events.collect()
}

pub(super) fn question(detail: &HitlDetail) -> Question {
    let HitlDetail { ti_id, options, subject, body, defaults, multiple, params, assigned_users } =
        detail.clone();
    Question {
        ti_id,
        options,
        subject,
        body,
        defaults,
        multiple,
        params,
        assignees: assigned_users,
        responded_at: None,
    }
}

pub(super) fn hitl_detail(question: Question) -> HitlDetail {
    HitlDetail {
        ti_id: question.ti_id,
        options: question.options,
        subject: question.subject,
        body: question.body,
        defaults: question.defaults,
        multiple: question.multiple,
        params: question.params,
        assigned_users: question.assignees,
    }
}

pub(super) fn holder_process(callback: &HeldCallback) -> Option<HolderProcess> {
    let process = callback.process.as_ref()?;
    Some(HolderProcess { pid: process.pid, hostname: process.hostname.clone(), seen: Some(process.seen) })
}

pub(super) fn callback_in_hand(callback: &HeldCallback) -> QueuedCallback {
    let process = holder_process(callback);
    let state = if process.is_some() { CallbackState::Running } else { CallbackState::Queued };
    QueuedCallback { id: callback.id, state, holder: Holder { job_id: callback.job_id, process } }
}
