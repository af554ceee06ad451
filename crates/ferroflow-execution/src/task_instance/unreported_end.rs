//! The process of a task instance is gone, and it has not told what became of it.

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::task_instance::execution::{End, Facts};
use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx, dag_version};
use ferroflow_model::dag::{Dag, Flag, Task};
use ferroflow_model::outcome::{EventRow, EventTask, ExecutorEvent, Outcome, executor_event};
use ferroflow_model::state::TaskState;
use ferroflow_model::{extended_json, id};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::attempt::{Attempt, about, dag_of, not_found, until_done};
use super::fail_fast::stop_the_rest;
use super::state::archive;
use crate::api::{DagRun, RunContext};
use crate::{Refusal, Service};

impl Service {
    /// The process of a try has ended, or its executor is gone, for this reason. If the try has not told what became
    /// of it, it failed: it is tried again if it may be, and its author's callbacks and mails are left for the DAG
    /// processor. Returns what was done.
    pub async fn fail_unreported(&self, id: Uuid, try_number: i32, reason: &str) -> Result<Outcome, Refusal> {
        let done = until_done("task_instance/end_try", || {
            Box::pin(async move {
                let now = clock::now();
                Ok(self.db.transact(|tx| give_up(tx, id, try_number, reason, now).scope_boxed()).await?)
            })
        });
        done.await
    }

    /// The process of a try that was not wanted any more has ended. One that was cleared while it ran begins anew; of
    /// any other, its row tells already what became of it.
    ///
    /// It is looked for by what it is of: clearing gave it another id.
    pub async fn ended_unwanted(&self, key: &TaskInstanceKey, try_number: i32) -> Result<(), Refusal> {
        let done = until_done("task_instance/restart", || {
            Box::pin(async move {
                let now = clock::now();
                Ok(self.db.transact(|tx| begin_anew(tx, key, try_number, now).scope_boxed()).await?)
            })
        });
        done.await
    }
}

async fn begin_anew(
    tx: &mut Tx,
    key: &TaskInstanceKey,
    try_number: i32,
    now: Timestamp,
) -> Result<Attempt<()>, Error> {
    let Some(id) = task_instance::current_id(tx, key).await? else { return Ok(Attempt::Done(())) };
    let facts = task_instance::execution::facts(tx, id).await?;
    if facts.is_none_or(|facts| facts.state != Some(TaskState::Restarting)) {
        return Ok(Attempt::Done(()));
    }
    Ok(match give_up(tx, id, try_number, "it was cleared", now).await? {
        Attempt::Done(_) => Attempt::Done(()),
        Attempt::Refused(refusal) => Attempt::Refused(refusal),
        Attempt::Raced => Attempt::Raced,
    })
}

pub(super) async fn give_up(
    tx: &mut Tx,
    id: Uuid,
    try_number: i32,
    reason: &str,
    now: Timestamp,
) -> Result<Attempt<Outcome>, Error> {
    let Some(facts) = task_instance::execution::facts(tx, id).await? else {
        return Ok(Attempt::Refused(not_found()));
    };
    let dag = dag_of(tx, &facts).await?;
    let task = dag.as_ref().and_then(|dag| task_of(dag, &facts));
    let outcome = decide(&facts, try_number, dag.as_ref().zip(task));
    let (Some(from), Some(_)) = (facts.state, outcome.new_state()) else { return Ok(Attempt::Done(outcome)) };
    if !apply(tx, id, &facts, from, outcome, now).await? {
        return Ok(Attempt::Raced);
    }
    let message = message(&facts, from, reason);
    let TaskInstanceKey { dag_id, run_id, task_id, map_index } = &facts.key;
    tracing::warn!(%id, dag_id, run_id, task_id, map_index, try_number = facts.try_number, "{message}");
    note_end(tx, &facts, task, outcome, &message, now).await?;
    if let (Some(told_as), Some(task)) = (outcome.told_as(), task) {
        let is_restarted = matches!(outcome, Outcome::Restarted { .. });
        tell_author(
            tx,
            id,
            &facts,
            task,
            Told { as_state: told_as, by_mail: !is_restarted, message: &message },
            now,
        )
        .await?;
    }
    match outcome {
        Outcome::Retried { with_history: true } => archive(tx, id, now).await?,
        Outcome::Failed { stops_the_rest: true } => stop_the_rest(tx, &facts, now).await?,
        _ => {}
    }
    Ok(Attempt::Done(outcome))
}

/// Whoever asks has run the try: no other scheduler has it, and no executor knows of it any more. One that was cleared
/// while it ran has ended as it should.
fn decide(facts: &Facts, try_number: i32, task: Option<(&Dag, &Task)>) -> Outcome {
    let is_cleared = facts.state == Some(TaskState::Restarting);
    let end = if is_cleared { TaskState::Success } else { TaskState::Failed };
    let event = ExecutorEvent { state: Some(end), try_number };
    let row = EventRow {
        state: facts.state,
        try_number: facts.try_number,
        max_tries: facts.max_tries,
        is_queued_by_me: true,
        has_next_method: facts.next_method.is_some(),
    };
    let task = task.map(|(dag, task)| EventTask { retries: task.retries, fail_fast: dag.fail_fast });
    executor_event(event, row, false, task)
}

pub(super) fn task_of<'d>(dag: &'d Dag, facts: &Facts) -> Option<&'d Task> {
    dag.find(&facts.key.task_id).map(|index| &dag.tasks()[index.position()])
}

/// Writes the new state. False if the instance has left the one in which it was seen.
async fn apply(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    from: TaskState,
    outcome: Outcome,
    now: Timestamp,
) -> Result<bool, Error> {
    match outcome {
        Outcome::Ignored(_) | Outcome::IdRecorded => Ok(true),
        Outcome::Restarted { max_tries } => {
            task_instance::execution::restart(tx, id, from, max_tries, now).await
        }
        Outcome::StateTaken(_) => {
            task_instance::execution::fail(tx, id, from, End::of(facts.start_date, now), now).await
        }
        Outcome::Retried { .. } => {
            let states = (from, TaskState::UpForRetry);
            task_instance::execution::end_try(tx, id, states, End::of(facts.start_date, now), now).await
        }
        Outcome::Failed { .. } => {
            let states = (from, TaskState::Failed);
            task_instance::execution::end_try(tx, id, states, End::of(facts.start_date, now), now).await
        }
    }
}

fn message(facts: &Facts, from: TaskState, reason: &str) -> String {
    let key = &facts.key;
    format!(
        "{}.{} of run {} (map index {}, try {}) has ended without a word while it was {from}: {reason}",
        key.dag_id, key.task_id, key.run_id, key.map_index, facts.try_number
    )
}

/// Notes in the audit log that an instance ended without a word, and that this was a failure.
async fn note_end(
    tx: &mut Tx,
    facts: &Facts,
    task: Option<&Task>,
    outcome: Outcome,
    message: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let mismatch = AuditEntry { extra: Some(message.to_owned()), ..about(facts, "state mismatch", now) };
    audit_log::insert(tx, &mismatch).await?;
    if matches!(outcome, Outcome::Retried { .. } | Outcome::Failed { .. }) {
        let failed = AuditEntry {
            logical_date: facts.run.logical_date,
            owner: task.map(|task| task.owner.to_string()),
            ..about(facts, TaskState::Failed.as_str(), now)
        };
        audit_log::insert(tx, &failed).await?;
    }
    Ok(())
}

/// What the author of a task is told.
#[derive(Clone, Copy)]
struct Told<'a> {
    /// That it failed, or that it is tried again.
    as_state: TaskState,
    /// Whether mails are for that.
    by_mail: bool,
    /// How it ended.
    message: &'a str,
}

/// Leaves for the DAG processor what the author of a task wants to be done when it fails, or is tried again.
async fn tell_author(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    task: &Task,
    told: Told<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    let is_retry = told.as_state == TaskState::UpForRetry;
    let (callback, mail) = if is_retry {
        (Flag::HasOnRetryCallback, Flag::EmailOnRetry)
    } else {
        (Flag::HasOnFailureCallback, Flag::EmailOnFailure)
    };
    let calls = task.is(callback);
    let mails = told.by_mail && !task.details().email.is_empty() && task.is(mail);
    if !calls && !mails {
        return Ok(());
    }
    let Some(common) = request(tx, id, facts, told.message).await? else { return Ok(()) };
    if calls {
        let more =
            [("task_callback_type", json!(told.as_state.as_str())), ("type", json!("TaskCallbackRequest"))];
        leave(tx, facts, "TaskCallbackRequest", common.clone(), more, now).await?;
    }
    if mails {
        let email_type = if is_retry { "retry" } else { "failure" };
        let more = [("email_type", json!(email_type)), ("type", json!("EmailRequest"))];
        leave(tx, facts, "EmailRequest", common, more, now).await?;
    }
    Ok(())
}

/// What both kinds of request hold; none if it cannot be told which version of the DAG the task is from. If the run cannot
/// be read, that is an error, and nothing is written: what the author is told goes with the end, and is not lost.
pub(super) async fn request(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    message: &str,
) -> Result<Option<Value>, Error> {
    // An instance that an Airflow before 3 made is of none.
    let dag_version_id = match facts.dag_version_id {
        Some(version) => Some(version),
        None => dag_version::latest(tx, &facts.key.dag_id).await?.map(|version| version.id),
    };
    let Some(dag_version_id) = dag_version_id else {
        return Ok(untold(id, &"the task instance is of no version of its DAG"));
    };
    let context = RunContext::of_callback(DagRun::of(tx, facts, None).await?, facts.max_tries);
    let mut context = match serde_json::to_value(&context) {
        Ok(context) => context,
        Err(problem) => return Ok(untold(id, &problem)),
    };
    // Here Airflow writes what there is none of, too; a task that starts is told only what there is.
    for none in ["next_method", "next_kwargs", "start_date"] {
        context[none] = Value::Null;
    }
    // A run that is not tied to a version of its bundle has its callbacks run by the newest files, as its tasks are.
    let is_tied = facts.run.bundle_version.is_some();
    let bundle_version = facts.version_bundle_version.as_ref().filter(|_| is_tied);
    Ok(Some(json!({
        "filepath": facts.relative_fileloc.as_deref().unwrap_or_default(),
        "bundle_name": facts.bundle_name,
        "bundle_version": bundle_version.or(facts.run.bundle_version.as_ref()),
        "msg": message,
        "ti": {
            "id": id,
            "task_id": facts.key.task_id,
            "dag_id": facts.key.dag_id,
            "run_id": facts.key.run_id,
            "try_number": facts.try_number,
            "dag_version_id": dag_version_id,
            "map_index": facts.key.map_index,
            "hostname": facts.hostname,
            "context_carrier": facts.context_carrier,
            "queue": facts.queue.as_deref().unwrap_or("default"),
        },
        "context_from_server": context,
    })))
}

fn untold(id: Uuid, problem: &dyn std::fmt::Display) -> Option<Value> {
    tracing::error!(%id, "callbacks are not run: {problem}");
    None
}

/// Leaves a request for the DAG processor.
pub(super) async fn leave(
    tx: &mut Tx,
    facts: &Facts,
    class: &str,
    mut request: Value,
    more: [(&str, Value); 2],
    now: Timestamp,
) -> Result<(), Error> {
    if let Value::Object(entries) = &mut request {
        entries.extend(more.map(|(key, value)| (key.to_owned(), value)));
    }
    let data = json!({"req_class": class, "req_data": request.to_string()});
    let left = Callback {
        id: id::new_v7(now, rand::random()),
        callback_type: "dag_processor".to_owned(),
        fetch_method: "dag_attribute".to_owned(),
        data: Json::from(extended_json::encode(&data)),
        bundle_name: Some(facts.bundle_name.clone()),
        state: None,
        output: None,
        priority_weight: 1,
        created_at: now,
        trigger_id: None,
    };
    callback::insert(tx, &left).await
}

impl RunContext {
    /// What a callback is told of the run of its task.
    fn of_callback(dag_run: DagRun, max_tries: i32) -> Self {
        Self {
            dag_run,
            task_reschedule_count: 0,
            max_tries,
            variables: [],
            connections: [],
            xcom_keys_to_clear: Vec::new(),
            should_retry: false,
            next_method: None,
            next_kwargs: None,
            start_date: None,
        }
    }
}
