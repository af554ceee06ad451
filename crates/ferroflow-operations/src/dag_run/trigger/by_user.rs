//! Runs that people and programs ask for.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_model::state::RunType;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::make::{RunSource, exists, make};
use super::{RequestedRun, checks};
use crate::dag::{self, StoredDag};
use crate::{AuditAction, OperationError, Operations};

/// A run that a person or a program asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriggerRequest {
    pub dag_id: String,
    /// Its timetable names the run if this is not given, or empty.
    pub run_id: Option<String>,
    pub logical_date: Option<Timestamp>,
    /// Whether fractions of a second of the logical date count. Airflow's command cuts them off.
    pub keeps_microseconds: bool,
    /// From when on it may run; from now on if not given.
    pub run_after: Option<Timestamp>,
    pub conf: Map<String, Value>,
    pub partition_key: Option<String>,
    pub note: Option<String>,
}

/// Makes a run, with all of its first task instances. A scheduler starts it, once its DAG is not paused; schedulers are
/// notified.
pub async fn trigger(operations: &Operations, request: &TriggerRequest) -> Result<DagRun, OperationError> {
    let TriggerRequest { dag_id, logical_date, .. } = request;
    operations.audit(&trigger_action(dag_id, *logical_date)).await;
    let stored = dag::find(&operations.db, dag_id).await?;
    let whole = if request.keeps_microseconds { *logical_date } else { logical_date.map(whole_seconds) };
    trigger_from(
        operations,
        &stored,
        &TriggerRequest { logical_date: whole, ..request.clone() },
        RunType::Manual,
    )
    .await
}

/// What the audit log says of it.
pub fn trigger_action(dag_id: &str, logical_date: Option<Timestamp>) -> AuditAction<'_> {
    AuditAction { dag_id: Some(dag_id), logical_date, ..AuditAction::named("dag_trigger") }
}

fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_microsecond().div_euclid(1_000_000)).unwrap_or(at)
}

/// Makes a run of a DAG that was found, for this reason.
pub(crate) async fn trigger_from(
    operations: &Operations,
    stored: &StoredDag,
    request: &TriggerRequest,
    run_type: RunType,
) -> Result<DagRun, OperationError> {
    let (db, dag_id) = (&operations.db, request.dag_id.as_str());
    checks::run_type(&stored.row, run_type, run_type.as_str())?;
    let (making, secrets) = operations.run_making(&stored.dag).await?;
    let run_after = request.run_after.unwrap_or_else(clock::now);
    let run_id = match &request.run_id {
        Some(run_id) if !run_id.is_empty() => run_id.clone(),
        _ => making.manual_run_id(stored, run_type, request.logical_date.is_some(), run_after).await?,
    };
    if run_type == RunType::Manual {
        reserved(&run_id)?;
    }
    let name = run_id.as_str();
    let there = db.read(|tx| async move { dag_run::find(tx, dag_id, name).await }.scope_boxed());
    if there.await?.is_some() {
        return Err(exists(dag_id, &run_id));
    }
    let wanted = RequestedRun {
        dag_id: request.dag_id.clone(),
        run_id: run_id.clone(),
        logical_date: request.logical_date,
        run_after: Some(run_after),
        conf: request.conf.clone(),
        partition_key: request.partition_key.clone(),
        note: request.note.clone(),
    };
    let caller = &operations.caller;
    let source = RunSource { run_type, triggered_by: caller.triggered_by, user: Some(caller.user.clone()) };
    make(&secrets, &making, stored, &wanted, source).await?;
    let made = db.read(|tx| async move { dag_run::find(tx, dag_id, name).await }.scope_boxed());
    made.await?
        .ok_or_else(|| OperationError::not_found(format!("run {run_id} was deleted as soon as it was made")))
}

/// Names that tell of another kind of run are for those.
fn reserved(run_id: &str) -> Result<(), OperationError> {
    let others = RunType::ALL.iter().filter(|kind| **kind != RunType::Manual);
    let mut kinds = others.map(|kind| kind.as_str());
    let kind = kinds.find(|kind| run_id.strip_prefix(kind).is_some_and(|rest| rest.starts_with("__")));
    kind.map_or(Ok(()), |kind| {
        let message =
            format!("A manual DAG run cannot use ID '{run_id}' since it is reserved for {kind} runs");
        Err(OperationError::value_error(message))
    })
}
