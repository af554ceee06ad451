//! A scheduler gives up waiting for a task instance: it has gone silent, or does not start.

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::task_instance::execution::Facts;
use ferroflow_db::task_instance::siblings::{self, Sibling};
use ferroflow_db::task_instance::{self, overdue};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx};
use ferroflow_model::dag::Flag;
use ferroflow_model::outcome::Outcome;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::attempt::{Attempt, about, dag_of, until_done};
use super::unreported_end::{give_up, leave, request, task_of};
use crate::{Refusal, Service};

/// A task instance that is to fail because it did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedStuck<'a> {
    /// The identity of its try.
    pub id: Uuid,
    /// The scheduler that queued it.
    pub job_id: i64,
    /// It was queued before.
    pub before: Timestamp,
    /// What its author and the audit log are told.
    pub message: &'a str,
}

impl Service {
    /// A try that runs was last heard of before a time: it has ended without a word, and what follows is what follows on
    /// that. `None`, and nothing changed, if it was heard of since or does not run any more.
    ///
    /// Airflow tells the author's callbacks here and again when the executor is told to forget the task. Here it is one
    /// transaction, and they are told once.
    pub async fn gone_silent(
        &self,
        id: Uuid,
        try_number: i32,
        before: Timestamp,
        message: &str,
        now: Timestamp,
    ) -> Result<Option<Outcome>, Refusal> {
        let done = until_done("task_instance/end_try", || {
            Box::pin(async move {
                let written = self
                    .db
                    .transact(|tx| give_up_silent(tx, (id, try_number), before, message, now).scope_boxed());
                Ok(written.await?)
            })
        });
        done.await
    }

    /// A try that was queued and taken back too often fails for good. False, and nothing changed, if it has started.
    pub async fn fail_stuck(&self, stuck: FailedStuck<'_>, now: Timestamp) -> Result<bool, Refusal> {
        Ok(self.db.transact(|tx| fail_stuck(tx, stuck, now).scope_boxed()).await?)
    }
}

async fn give_up_silent(
    tx: &mut Tx,
    (id, try_number): (Uuid, i32),
    before: Timestamp,
    message: &str,
    now: Timestamp,
) -> Result<Attempt<Option<Outcome>>, Error> {
    if !overdue::lock_without_heartbeat(tx, id, before).await? {
        return Ok(Attempt::Done(None));
    }
    let Some(facts) = task_instance::execution::facts(tx, id).await? else { return Ok(Attempt::Done(None)) };
    let outcome = match give_up(tx, id, try_number, message, now).await? {
        Attempt::Done(outcome) => outcome,
        Attempt::Refused(refusal) => return Ok(Attempt::Refused(refusal)),
        Attempt::Raced => return Ok(Attempt::Raced),
    };
    if outcome.new_state().is_some() {
        let entry = AuditEntry { extra: Some(message.to_owned()), ..about(&facts, "heartbeat timeout", now) };
        audit_log::insert(tx, &entry).await?;
    }
    Ok(Attempt::Done(Some(outcome)))
}

async fn fail_stuck(tx: &mut Tx, stuck: FailedStuck<'_>, now: Timestamp) -> Result<bool, Error> {
    let FailedStuck { id, job_id, before, message } = stuck;
    if !overdue::lock_stuck(tx, id, before, job_id).await? {
        return Ok(false);
    }
    let Some(facts) = task_instance::execution::facts(tx, id).await? else { return Ok(false) };
    if !siblings::end(tx, &as_sibling(id, &facts), TaskState::Failed, now).await? {
        return Ok(false);
    }
    let entry = AuditEntry {
        extra: Some(message.to_owned()),
        ..about(&facts, "stuck in queued tries exceeded", now)
    };
    audit_log::insert(tx, &entry).await?;
    let dag = dag_of(tx, &facts).await?;
    let task = dag.as_ref().and_then(|dag| task_of(dag, &facts));
    if task.is_some_and(|task| task.is(Flag::HasOnFailureCallback))
        && let Some(request) = request(tx, id, &facts, message).await?
    {
        let more = [("task_callback_type", json!(null)), ("type", json!("TaskCallbackRequest"))];
        leave(tx, &facts, "TaskCallbackRequest", request, more, now).await?;
    }
    Ok(true)
}

fn as_sibling(id: Uuid, facts: &Facts) -> Sibling {
    Sibling {
        id,
        task_id: facts.key.task_id.clone(),
        map_index: facts.key.map_index,
        state: facts.state,
        try_number: facts.try_number,
        start_date: facts.start_date,
        end_date: None,
    }
}
