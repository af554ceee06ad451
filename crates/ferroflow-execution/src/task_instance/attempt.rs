//! One guarded step of a task instance: look, decide, write, and look again if somebody else was faster.

use std::pin::Pin;

use ferroflow_db::Error;
use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::serialized_dag;
use ferroflow_db::task_instance::life::Facts;
use ferroflow_db::{Tx, dag_run, dag_version};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::json;

use crate::Refusal;

/// So often somebody else may be faster. Every time one of them has moved the instance on, so this does not end.
const ATTEMPTS: usize = 10;

/// What came of a transaction.
pub(super) enum Attempt<T> {
    /// It was done.
    Done(T),
    /// It is not to be done. Nothing was written.
    Refused(Refusal),
    /// The instance has left the state in which it was seen, or something had to be asked first. Nothing was written.
    Raced,
}

/// One attempt, on its way. (An asynchronous closure would be shorter, but nobody could tell that it is `Send`.)
pub(super) type Attempting<'a, T> = Pin<Box<dyn Future<Output = Result<Attempt<T>, Refusal>> + Send + 'a>>;

/// Tries again as long as somebody else is faster.
pub(super) async fn until_done<'a, T>(
    operation: &str,
    mut attempt: impl FnMut() -> Attempting<'a, T>,
) -> Result<T, Refusal> {
    for _ in 0..ATTEMPTS {
        match attempt().await? {
            Attempt::Done(done) => return Ok(done),
            Attempt::Refused(refusal) => return Err(refusal),
            Attempt::Raced => tracing::debug!(operation, "it is looked at again"),
        }
    }
    Err(Error::Aborted(operation.to_owned()).into())
}

/// That there is no such task instance.
pub(super) fn not_found() -> Refusal {
    Refusal::api(404, "not_found", "Task Instance not found")
}

/// That the instance is in a state from which it cannot go where it was to go.
pub(super) fn invalid_state(message: &str, state: Option<TaskState>) -> Refusal {
    let previous_state = state.map(TaskState::as_str);
    let detail = json!({"reason": "invalid_state", "message": message, "previous_state": previous_state});
    Refusal::Api { status: 409, detail }
}

/// Notes in the audit log what became of an instance.
pub(super) async fn note_event(
    tx: &mut Tx,
    facts: &Facts,
    event: &str,
    hostname: Option<&str>,
    now: Timestamp,
) -> Result<(), Error> {
    let hostname = hostname.filter(|name| !name.is_empty());
    let entry = AuditEntry {
        logical_date: facts.run.logical_date,
        owner: facts.owners.clone(),
        extra: hostname.map(|name| ferroflow_db::Json::from(json!({"host_name": name})).into_text()),
        ..about(facts, event, now)
    };
    audit_log::insert(tx, &entry).await
}

/// An entry about an instance that says nothing more.
pub(super) fn about(facts: &Facts, event: &str, now: Timestamp) -> AuditEntry {
    AuditEntry {
        dttm: Some(now),
        event: event.to_owned(),
        dag_id: Some(facts.key.dag_id.clone()),
        run_id: Some(facts.key.run_id.clone()),
        task_id: Some(facts.key.task_id.clone()),
        map_index: Some(facts.key.map_index),
        try_number: Some(facts.try_number),
        logical_date: None,
        owner: None,
        owner_display_name: None,
        extra: None,
    }
}

/// The DAG that a run is of: in the version that it is tied to, or in the newest.
pub(super) async fn dag_of(tx: &mut Tx, run: &dag_run::DagRun) -> Result<Option<Dag>, Error> {
    let is_tied = run.bundle_version.as_deref().is_some_and(|version| !version.is_empty());
    let tied_to = run.created_dag_version_id.filter(|_| is_tied);
    let version = match tied_to {
        Some(version) => Some(version),
        None => dag_version::latest(tx, &run.dag_id).await?.map(|version| version.id),
    };
    let Some(version) = version.or(run.created_dag_version_id) else { return Ok(None) };
    let Some(stored) = serialized_dag::find(tx, version).await? else { return Ok(None) };
    match Dag::decode(stored.data.text()) {
        Ok(dag) => Ok(Some(dag)),
        Err(problems) => {
            tracing::error!(dag_id = run.dag_id, "the stored DAG cannot be read: {problems}");
            Ok(None)
        }
    }
}
