//! A task instance ends for now: it waits for a trigger, for a time or for a person.

use ferroflow_db::hitl_detail::answer::Answer;
use ferroflow_db::task_instance::execution::{Continuation, End, Facts};
use ferroflow_db::trigger::{self, TaskTrigger};
use ferroflow_db::{Dialect, Error, Json, Tx, hitl_detail, task_instance};
use ferroflow_model::sdk_json;
use ferroflow_model::state::TaskState;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::json::object;
use super::state::fail;
use crate::api::{AwaitedInput, Deferral, Reschedule};

/// The last time that MySQL's timestamps can hold.
const LAST_OF_MYSQL: Timestamp = Timestamp::constant(2_147_483_647, 0);

/// It waits for a trigger.
pub(super) async fn defer(
    tx: &mut Tx,
    id: Uuid,
    deferral: &Deferral,
    team_name: Option<&str>,
    now: Timestamp,
) -> Result<Option<TaskState>, Error> {
    let kwargs = match &deferral.trigger_kwargs {
        // Whoever sends a text has encrypted it.
        Some(Value::String(text)) => text.clone(),
        other => object(other.as_ref()).into_text(),
    };
    let wanted = TaskTrigger {
        classpath: &deferral.classpath,
        kwargs: &kwargs,
        queue: deferral.queue.as_deref(),
        team_name,
    };
    let trigger_id = trigger::insert_for_task(tx, &wanted, now).await?;
    let states = (TaskState::Running, TaskState::Deferred);
    let next_kwargs = object(deferral.next_kwargs.as_ref());
    let continuation = Continuation { method: &deferral.next_method, kwargs: &next_kwargs };
    let timeout = until(deferral.trigger_timeout, now);
    if task_instance::execution::defer(tx, id, states, Some(trigger_id), continuation, timeout, now).await? {
        return Ok(Some(TaskState::Deferred));
    }
    trigger::delete(tx, trigger_id).await?;
    Ok(None)
}

/// It wants to be looked at again later.
pub(super) async fn reschedule(
    tx: &mut Tx,
    id: Uuid,
    facts: &Facts,
    wish: &Reschedule,
    now: Timestamp,
) -> Result<Option<TaskState>, Error> {
    let is_mysql = matches!(tx.dialect(), Dialect::MySql | Dialect::MariaDb);
    if is_mysql && wish.reschedule_date > LAST_OF_MYSQL {
        tracing::error!(%id, date = %wish.reschedule_date, "MySQL cannot hold the date; the task fails");
        return fail(tx, id, facts, now).await;
    }
    let states = (TaskState::Running, TaskState::UpForReschedule);
    if !task_instance::execution::end_try(tx, id, states, End::of(facts.start_date, wish.end_date), now)
        .await?
    {
        return Ok(None);
    }
    task_instance::reschedule::insert(tx, id, now, wish.end_date, wish.reschedule_date).await?;
    Ok(Some(TaskState::UpForReschedule))
}

/// It waits for a person, who may have been faster.
pub(super) async fn await_input(
    tx: &mut Tx,
    id: Uuid,
    wait: &AwaitedInput,
    now: Timestamp,
) -> Result<Option<TaskState>, Error> {
    let mut kwargs = object(wait.next_kwargs.as_ref());
    let states = (TaskState::Running, TaskState::AwaitingInput);
    let continuation = Continuation { method: &wait.next_method, kwargs: &kwargs };
    // Locked before the question is looked at, in the order of those who answer.
    if !task_instance::execution::defer(tx, id, states, None, continuation, until(wait.timeout, now), now)
        .await?
    {
        return Ok(None);
    }
    let Some(answer) = hitl_detail::answer::find(tx, id).await? else {
        return Ok(Some(TaskState::AwaitingInput));
    };
    if let Ok(serde_json::Value::Object(mut entries)) = kwargs.value() {
        entries.insert("event".to_owned(), answer_event(&answer, false));
        kwargs = Json::from(serde_json::Value::Object(entries));
    }
    let continuation = Continuation { method: &wait.next_method, kwargs: &kwargs };
    task_instance::execution::resume(tx, id, TaskState::AwaitingInput, continuation, now).await?;
    Ok(Some(TaskState::Scheduled))
}

fn until(timeout: Option<SignedDuration>, now: Timestamp) -> Option<Timestamp> {
    timeout.map(|timeout| now.checked_add(timeout).unwrap_or(Timestamp::MAX))
}

/// An answer as the task is told, in the SDK's own encoding. One that nobody gave in time was given by default.
pub fn answer_event(answer: &Answer, timed_out: bool) -> serde_json::Value {
    let or = |value: &serde_json::Value, other: serde_json::Value| {
        if value.is_null() { other } else { value.clone() }
    };
    let user = &answer.responded_by;
    let user = if user.is_null() { json!(null) } else { json!({"id": user["id"], "name": user["name"]}) };
    json!({
        "chosen_options": or(&answer.chosen_options, json!([])),
        "params_input": or(&answer.params_input, json!({})),
        "responded_at": sdk_json::time(answer.responded_at),
        "responded_by_user": user,
        "timedout": timed_out,
    })
}
