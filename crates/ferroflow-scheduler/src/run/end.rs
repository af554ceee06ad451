//! What the end of a run means for its DAG and its deadlines, in the transaction that ends it.

use ferroflow_db::audit_log::{self, AuditEntry};
use ferroflow_db::dag_run::{self, DagRun};
use ferroflow_db::{Error as DbError, Tx, dag, deadline};
use ferroflow_model::outcome::failing::is_failing;
use ferroflow_model::state::RunState;
use jiff::Timestamp;

use super::Definition;
use super::callback::Ending;

/// Forgets the deadlines that a successful run has met, and pauses a DAG whose runs keep failing. Answers how many were
/// met.
pub(super) async fn follow_up(
    tx: &mut Tx,
    run: &DagRun,
    definition: &Definition,
    ending: &Ending,
    now: Timestamp,
) -> Result<usize, DbError> {
    let dag = definition.dag();
    let mut met = 0;
    if ending.state == RunState::Success && !dag.deadlines.is_empty() {
        met = deadline::create::forget_met(tx, run.id, now).await?;
    }
    let limit = usize::try_from(dag.max_consecutive_failed_dag_runs).unwrap_or(0);
    if limit > 0 && ending.is_by_tasks_that_failed() {
        let newest = dag_run::lookup::newest_states(tx, &run.dag_id, limit).await?;
        if is_failing(&newest, limit) {
            pause(tx, &run.dag_id, now).await?;
            tracing::warn!(dag_id = run.dag_id, "DAG is paused: its last {limit} runs have failed");
        }
    }
    Ok(met)
}

async fn pause(tx: &mut Tx, dag_id: &str, now: Timestamp) -> Result<(), DbError> {
    dag::pause::set(tx, dag_id, true).await?;
    let entry = AuditEntry {
        dttm: Some(now),
        event: "paused".to_owned(),
        dag_id: Some(dag_id.to_owned()),
        run_id: None,
        task_id: None,
        map_index: None,
        try_number: None,
        logical_date: None,
        owner: Some("scheduler".to_owned()),
        owner_display_name: Some("Scheduler".to_owned()),
        // As Python shows it: pages of the official API read it so.
        extra: Some(format!("[('dag_id', '{dag_id}'), ('is_paused', True)]")),
    };
    audit_log::insert(tx, &entry).await
}
