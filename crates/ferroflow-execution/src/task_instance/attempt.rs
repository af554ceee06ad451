//! One guarded step of a task instance: look, decide, write, and look again if somebody else was faster.

use std::pin::Pin;

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::dag_version::{self, serialized_dag};
use ferroflow_db::task_instance::execution::Facts;
use ferroflow_db::{Error, Tx};
use ferroflow_model::dag::Dag;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

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

/// The DAG that an instance is of, as [`dag_of_run`].
pub(super) async fn dag_of(tx: &mut Tx, facts: &Facts) -> Result<Option<Dag>, Error> {
    let run = &facts.run;
    dag_of_run(tx, &facts.key.dag_id, run.bundle_version.as_deref(), run.created_dag_version_id).await
}

/// The DAG that a run is of: in the version that it was made with if it is tied to a version of its bundle, or in the
/// newest.
pub(super) async fn dag_of_run(
    tx: &mut Tx,
    dag_id: &str,
    bundle_version: Option<&str>,
    made_with: Option<Uuid>,
) -> Result<Option<Dag>, Error> {
    let is_tied = bundle_version.is_some_and(|version| !version.is_empty());
    let version = match made_with.filter(|_| is_tied) {
        Some(version) => Some(version),
        None => dag_version::latest(tx, dag_id).await?.map(|version| version.id),
    };
    let Some(version) = version.or(made_with) else { return Ok(None) };
    let Some(stored) = serialized_dag::find(tx, version).await? else { return Ok(None) };
    match Dag::decode(stored.data.text()) {
        Ok(dag) => Ok(Some(dag)),
        Err(problems) => {
            tracing::error!(dag_id, "the stored DAG cannot be read: {problems}");
            Ok(None)
        }
    }
}
