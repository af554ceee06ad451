//! A task instance starts to run.

use ferroflow_db::asset_registration::{self, ConsumedEvent as StoredEvent};
use ferroflow_db::task_instance::life::{self, Facts, Place};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use rmpv::Value;
use uuid::Uuid;

use super::attempt::{Attempt, invalid_state, not_found, note_event, until_done};
use super::model::{ConsumedAlias, ConsumedAsset, ConsumedEvent, DagRun, EnterRunning, RunContext};
use super::plain::is_truthy;
use crate::value::json;
use crate::{Refusal, Service};

/// What was read while the instance started.
struct Started {
    facts: Facts,
    run: dag_run::DagRun,
    xcom_keys: Vec<String>,
    events: Vec<StoredEvent>,
}

impl Service {
    /// A queued task instance runs from now on, in the process that asks. The same process may ask again.
    pub async fn run(&self, id: Uuid, request: &EnterRunning) -> Result<RunContext, Refusal> {
        let started = until_done("task_instance/enter_running", || {
            Box::pin(async move {
                let now = clock::now();
                Ok(self.db.transact(|tx| start(tx, id, request, now).scope_boxed()).await?)
            })
        });
        let Started { facts, run, xcom_keys, events } = started.await?;
        let should_retry = is_tried_again(&facts);
        let (note, team_name) = (facts.note, facts.team_name.filter(|_| self.rules.multi_team));
        let is_resumed = facts.next_method.is_some();
        let next_kwargs =
            facts.next_kwargs.as_ref().map(|kwargs| json(|| "next_kwargs".to_owned(), kwargs)).transpose()?;
        Ok(RunContext {
            dag_run: DagRun::of(run, events, note, team_name)?,
            task_reschedule_count: facts.reschedules,
            max_tries: facts.max_tries,
            variables: [],
            connections: [],
            xcom_keys_to_clear: xcom_keys,
            should_retry,
            next_method: facts.next_method,
            next_kwargs: is_resumed.then(|| next_kwargs.unwrap_or(Value::Nil)),
            start_date: facts.start_date.filter(|_| is_resumed),
        })
    }
}

async fn start(
    tx: &mut Tx,
    id: Uuid,
    request: &EnterRunning,
    now: Timestamp,
) -> Result<Attempt<Started>, Error> {
    let Some(facts) = life::facts(tx, id).await? else { return Ok(Attempt::Refused(not_found())) };
    let from = match facts.state {
        Some(state @ (TaskState::Queued | TaskState::Restarting)) => state,
        Some(TaskState::Running) if is_same_process(&facts, request) => TaskState::Running,
        state => {
            let message = "TI was not in a state where it could be marked as running";
            return Ok(Attempt::Refused(invalid_state(message, state)));
        }
    };
    // Its process is told all of it.
    let run = facts.whole_run()?.clone();
    // What goes on after it was put off has started before.
    let is_resumed = facts.next_kwargs.as_ref().is_some_and(is_truthy);
    let start_date = if is_resumed { facts.start_date } else { Some(request.start_date) };
    let place = Place { hostname: &request.hostname, unixname: &request.unixname, pid: request.pid };
    if !life::enter_running(tx, id, from, place, start_date, now).await? {
        return Ok(Attempt::Raced);
    }
    if from != TaskState::Running {
        note_event(tx, &facts, "running", Some(&request.hostname), now).await?;
    }
    let xcom_keys = if facts.has_xcoms && facts.next_method.is_none() {
        let map_index = Some(facts.key.map_index).filter(|index| *index >= 0);
        life::xcom_keys(tx, facts.run.id, &facts.key.task_id, map_index).await?
    } else {
        Vec::new()
    };
    let events = if facts.has_asset_events {
        asset_registration::consumed(tx, facts.run.id).await?
    } else {
        Vec::new()
    };
    Ok(Attempt::Done(Started { facts, run, xcom_keys, events }))
}

fn is_same_process(facts: &Facts, request: &EnterRunning) -> bool {
    facts.hostname.as_deref() == Some(&request.hostname)
        && facts.unixname.as_deref() == Some(&request.unixname)
        && facts.pid == Some(request.pid)
}

/// One that was cleared while it ran may always ask for another try.
fn is_tried_again(facts: &Facts) -> bool {
    facts.state == Some(TaskState::Restarting)
        || (facts.max_tries != 0 && facts.try_number <= facts.max_tries)
}

impl DagRun {
    /// A run as it is stored, and what the API tells with it.
    pub(crate) fn of(
        run: dag_run::DagRun,
        events: Vec<StoredEvent>,
        note: Option<String>,
        team_name: Option<String>,
    ) -> Result<Self, Refusal> {
        let conf = run
            .conf
            .as_ref()
            .map(|conf| json(|| format!("conf of run {:?} of DAG {:?}", run.run_id, run.dag_id), conf));
        Ok(Self {
            conf: conf.transpose()?,
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
            note,
            team_name,
        })
    }
}

fn consumed(event: StoredEvent) -> Result<ConsumedEvent, Refusal> {
    let about = |what: &str| format!("{what} of an event of asset {:?}", event.name);
    Ok(ConsumedEvent {
        extra: json(|| about("extra"), &event.extra)?,
        asset: ConsumedAsset {
            extra: json(|| about("asset"), &event.asset_extra)?,
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
