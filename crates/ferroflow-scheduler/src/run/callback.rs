//! The callback of a DAG when one of its runs has ended, left for a DAG processor to run.
//!
//! Airflow's scheduler writes this after its transaction, and loses it if it dies in between. Here it is part of the
//! transaction that ends the run.

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{Error as DbError, Json, Tx};
use ferroflow_model::readiness::{InstanceRef, RunVerdict};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_model::{extended_json, id};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Definition;

/// How a run ends, and which instance that is told about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) state: RunState,
    reason: &'static str,
    about: About,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    /// Of those in a state, the one that ended last.
    LastEnded(TaskState),
    /// Of those that were not finished, the one that started last.
    LastStarted(Vec<Uuid>),
    /// This one.
    One(Option<Uuid>),
}

impl Ending {
    /// What a verdict means; `None` if the run goes on.
    pub(super) fn of(
        verdict: RunVerdict,
        unfinished: Vec<Uuid>,
        id_of: impl Fn(InstanceRef) -> Option<Uuid>,
    ) -> Option<Self> {
        let (state, reason, about) = match verdict {
            RunVerdict::Running | RunVerdict::NotBefore(_) => return None,
            RunVerdict::Success => (RunState::Success, "success", About::LastEnded(TaskState::Success)),
            RunVerdict::TasksFailed => {
                (RunState::Failed, "task_failure", About::LastEnded(TaskState::Failed))
            }
            RunVerdict::TimedOut => (RunState::Failed, "timed_out", About::LastStarted(unfinished)),
            RunVerdict::Deadlocked { blocked } => {
                (RunState::Failed, "all_tasks_deadlocked", About::One(blocked.and_then(id_of)))
            }
        };
        Some(Self { state, reason, about })
    }

    /// Whether all is over and a task has failed, rather than that the run was ended.
    pub(super) fn is_by_tasks_that_failed(&self) -> bool {
        self.about == About::LastEnded(TaskState::Failed)
    }

    /// Whether there is a callback. Of a time-out Airflow leaves one whether the DAG has any or not.
    fn is_told(&self, definition: &Definition) -> bool {
        let dag = definition.dag();
        match self.state {
            RunState::Success => dag.has_on_success_callback,
            _ => dag.has_on_failure_callback || self.reason == "timed_out",
        }
    }
}

/// Leaves the callback of a run that has just ended.
pub(super) async fn leave(
    tx: &mut Tx,
    run: &DagRun,
    definition: &Definition,
    ending: &Ending,
    now: Timestamp,
) -> Result<(), DbError> {
    if !ending.is_told(definition) {
        return Ok(());
    }
    let last = match &ending.about {
        About::LastEnded(state) => {
            task_instance::scheduling::last_ended(tx, &run.dag_id, &run.run_id, *state).await?
        }
        About::LastStarted(ids) => {
            task_instance::scheduling::last_started(tx, &run.dag_id, &run.run_id, ids).await?
        }
        About::One(id) => *id,
    };
    let last = match last {
        Some(id) => task_instance::find(tx, id).await?,
        None => None,
    };
    let note = dag_run::note::find(tx, run.id).await?;
    let request = request(run, definition, ending, last.as_ref(), note.as_deref(), now);
    let data = json!({"req_class": "DagCallbackRequest", "req_data": request.to_string()});
    let callback = Callback {
        id: id::new_v7(now, rand::random()),
        callback_type: "dag_processor".to_owned(),
        fetch_method: "dag_attribute".to_owned(),
        data: Json::from(extended_json::encode(&data)),
        bundle_name: Some(definition.bundle_name.clone()),
        state: None,
        output: None,
        priority_weight: 1,
        created_at: now,
        trigger_id: None,
    };
    callback::insert(tx, &callback).await
}

/// Airflow's `DagCallbackRequest`. Its reader takes no other keys than these.
fn request(
    run: &DagRun,
    definition: &Definition,
    ending: &Ending,
    last: Option<&TaskInstance>,
    note: Option<&str>,
    now: Timestamp,
) -> Value {
    json!({
        "filepath": definition.relative_fileloc,
        "bundle_name": definition.bundle_name,
        "bundle_version": run.bundle_version,
        "msg": ending.reason,
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "context_from_server": {
            "dag_run": run_value(run, ending.state, note, now),
            "last_ti": last.and_then(instance_value),
        },
        "is_failure_callback": ending.state == RunState::Failed,
        "type": "DagCallbackRequest",
    })
}

fn run_value(run: &DagRun, state: RunState, note: Option<&str>, now: Timestamp) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
    let conf = run.conf.as_ref().and_then(|conf| conf.value().ok()).unwrap_or_else(|| json!({}));
    json!({
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "logical_date": time(run.logical_date),
        "data_interval_start": time(run.data_interval_start),
        "data_interval_end": time(run.data_interval_end),
        "run_after": run.run_after.to_string(),
        "start_date": time(run.start_date),
        "end_date": now.to_string(),
        "clear_number": run.clear_number,
        "run_type": run.run_type.as_str(),
        "state": state.as_str(),
        "conf": conf,
        "triggering_user_name": run.triggering_user_name,
        "consumed_asset_events": [],
        "partition_key": run.partition_key,
        "partition_date": time(run.partition_date),
        "note": note,
        "team_name": null,
    })
}

/// One from before there were versions is left out, as Airflow does: its model has no place for it.
fn instance_value(instance: &TaskInstance) -> Option<Value> {
    let version = instance.dag_version_id?;
    Some(json!({
        "id": instance.id,
        "task_id": instance.key.task_id,
        "dag_id": instance.key.dag_id,
        "run_id": instance.key.run_id,
        "try_number": instance.try_number,
        "dag_version_id": version,
        "map_index": instance.key.map_index,
        "hostname": instance.hostname,
        "context_carrier": instance.context_carrier,
        "queue": instance.queue.as_deref().unwrap_or("default"),
    }))
}
