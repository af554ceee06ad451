//! A task instance starts to run.

use ferroflow_db::asset::registration::{self, ConsumedEvent as StoredEvent};
use ferroflow_db::task_instance::execution::{Facts, Place};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx, task_instance};
use ferroflow_model::retry;
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use super::attempt::{Attempt, not_found, note_event, until_done};
use super::json::is_truthy;
use crate::api::{ConsumedAlias, ConsumedAsset, ConsumedEvent, DagRun, EnterRunning, RunContext};
use crate::{Refusal, Service};

impl Service {
    /// A queued task instance runs from now on, in the process that asks. The same process may ask again.
    pub async fn run(&self, id: Uuid, request: &EnterRunning) -> Result<RunContext, Refusal> {
        let multi_team = self.rules.multi_team;
        let started = until_done("task_instance/enter_running", || {
            Box::pin(async move {
                let now = clock::now();
                Ok(self.db.transact(|tx| start(tx, id, request, multi_team, now).scope_boxed()).await?)
            })
        });
        started.await
    }
}

async fn start(
    tx: &mut Tx,
    id: Uuid,
    request: &EnterRunning,
    multi_team: bool,
    now: Timestamp,
) -> Result<Attempt<RunContext>, Error> {
    let Some(facts) = task_instance::execution::facts(tx, id).await? else {
        return Ok(Attempt::Refused(not_found()));
    };
    let from = match facts.state {
        Some(state @ (TaskState::Queued | TaskState::Restarting)) => state,
        Some(TaskState::Running) if is_same_process(&facts, request) => TaskState::Running,
        state => {
            let message = "TI was not in a state where it could be marked as running";
            return Ok(Attempt::Refused(Refusal::invalid_state(message, state)));
        }
    };
    // Its process is told all of it. What cannot be told is found before the row says that it runs.
    let context = context(tx, &facts, multi_team).await?;
    // What goes on after it was put off has started before.
    let is_resumed = facts.next_kwargs.as_ref().is_some_and(is_truthy);
    let start_date = if is_resumed { facts.start_date } else { Some(request.start_date) };
    let place = Place { hostname: &request.hostname, unixname: &request.unixname, pid: request.pid };
    if !task_instance::execution::enter_running(tx, id, from, place, start_date, now).await? {
        return Ok(Attempt::Raced);
    }
    if from != TaskState::Running {
        note_event(tx, &facts, "running", Some(&request.hostname), now).await?;
    }
    Ok(Attempt::Done(context))
}

/// What its process is told.
async fn context(tx: &mut Tx, facts: &Facts, multi_team: bool) -> Result<RunContext, Error> {
    let is_resumed = facts.next_method.is_some();
    let xcom_keys = if facts.has_xcoms && !is_resumed {
        let map_index = Some(facts.key.map_index).filter(|index| *index >= 0);
        task_instance::execution::xcom_keys(tx, facts.run.id, &facts.key.task_id, map_index).await?
    } else {
        Vec::new()
    };
    let team_name = facts.team_name.clone().filter(|_| multi_team);
    Ok(RunContext {
        dag_run: DagRun::of(tx, facts, team_name).await?,
        task_reschedule_count: facts.reschedules,
        max_tries: facts.max_tries,
        variables: [],
        connections: [],
        xcom_keys_to_clear: xcom_keys,
        should_retry: retry::worker_may_retry(facts.state, facts.try_number, facts.max_tries),
        next_method: facts.next_method.clone(),
        next_kwargs: if is_resumed { Some(next_kwargs(facts)?) } else { None },
        start_date: facts.start_date.filter(|_| is_resumed),
    })
}

fn next_kwargs(facts: &Facts) -> Result<Value, Error> {
    let Some(kwargs) = &facts.next_kwargs else { return Ok(Value::Null) };
    decoded(kwargs).map_err(|error| facts.unreadable("next_kwargs", kwargs, &error))
}

fn is_same_process(facts: &Facts, request: &EnterRunning) -> bool {
    facts.hostname.as_deref() == Some(&request.hostname)
        && facts.unixname.as_deref() == Some(&request.unixname)
        && facts.pid == Some(request.pid)
}

impl DagRun {
    /// The run of a task instance, and what the API tells with it.
    pub(super) async fn of(tx: &mut Tx, facts: &Facts, team_name: Option<String>) -> Result<Self, Error> {
        let run = facts.whole_run()?.clone();
        let conf = run
            .conf
            .as_ref()
            .map(|conf| decoded(conf).map_err(|error| facts.unreadable("conf", conf, &error)))
            .transpose()?;
        let events =
            if facts.has_asset_events { registration::consumed(tx, facts.run.id).await? } else { Vec::new() };
        Ok(Self {
            conf,
            consumed_asset_events: events.into_iter().map(consumed).collect::<Result<_, _>>()?,
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
            partition_key: run.partition_key,
            partition_date: run.partition_date,
            note: facts.note.clone(),
            team_name,
        })
    }
}

fn consumed(event: StoredEvent) -> Result<ConsumedEvent, Error> {
    let value = |column, json: &Json| decoded(json).map_err(|error| event.unreadable(column, json, &error));
    Ok(ConsumedEvent {
        extra: value("extra", &event.extra)?,
        asset: ConsumedAsset {
            extra: value("asset_extra", &event.asset_extra)?,
            name: event.name,
            uri: event.uri,
        },
        source_task_id: event.source_task_id,
        source_dag_id: event.source_dag_id,
        source_run_id: event.source_run_id,
        source_map_index: event.source_map_index,
        source_aliases: event.aliases.into_iter().map(|name| ConsumedAlias { name }).collect(),
        timestamp: event.timestamp,
        partition_key: event.partition_key,
    })
}

fn decoded(json: &Json) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&json.standard_text())
}
