//! Rows become candidates.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ferroflow_db::task_instance::queueing::{self, Scheduled};
use ferroflow_db::{Error as DbError, Tx, dag_run};
use ferroflow_model::admission::{Candidate, DagLimits, InstanceKey};
use ferroflow_model::state::RunType;
use jiff::Timestamp;
use uuid::Uuid;

use super::memory::Read;
use crate::run::Definition;
use crate::{Context, Error};

/// What was read.
#[derive(Default)]
pub(super) struct Found {
    pub(super) candidates: Vec<Read>,
    /// DAGs whose limits cannot be known, and why.
    pub(super) set_aside: Vec<(String, String)>,
    /// DAGs that are not stored any more.
    pub(super) lost: BTreeSet<String>,
}

/// Those of some ids that wait.
pub(super) async fn by_id(tx: &mut Tx, cx: &Context, ids: &[Uuid], now: Timestamp) -> Result<Found, DbError> {
    let rows = queueing::scheduled_by_id(tx, ids).await?;
    found(tx, cx, rows, now).await
}

/// Those of some runs that wait.
pub(super) async fn of_runs(
    tx: &mut Tx,
    cx: &Context,
    dag_run_ids: &[i64],
    now: Timestamp,
) -> Result<Found, DbError> {
    let rows = queueing::scheduled_of_runs(tx, dag_run_ids).await?;
    found(tx, cx, rows, now).await
}

async fn found(tx: &mut Tx, cx: &Context, rows: Vec<Scheduled>, now: Timestamp) -> Result<Found, DbError> {
    let mut found = Found::default();
    let limited: BTreeSet<i64> = rows
        .iter()
        .filter(|row| row.has_task_concurrency_limits && !row.is_paused)
        .map(|row| row.dag_run_id)
        .collect();
    let definitions = definitions(tx, cx, &limited, &mut found, now).await?;
    let mut texts = Texts::default();
    let multi_team = cx.settings.core.multi_team;
    for row in rows.into_iter().filter(|row| !row.is_paused) {
        let definition = definitions.get(&row.dag_run_id);
        // Without its limits it might exceed one.
        if definition.is_some() || !row.has_task_concurrency_limits {
            found.candidates.push(read(row, definition.map(|one| &**one), multi_team, &mut texts));
        }
    }
    Ok(found)
}

/// The DAGs of runs whose tasks have limits of their own: only the DAG tells which.
async fn definitions(
    tx: &mut Tx,
    cx: &Context,
    limited: &BTreeSet<i64>,
    found: &mut Found,
    now: Timestamp,
) -> Result<HashMap<i64, Arc<Definition>>, DbError> {
    let mut definitions = HashMap::new();
    if limited.is_empty() {
        return Ok(definitions);
    }
    let ids: Vec<i64> = limited.iter().copied().collect();
    for run in dag_run::lookup::with_dag(tx, &ids).await? {
        match cx.definitions.of_run(tx, &run.run, now).await {
            Ok(definition) => _ = definitions.insert(run.run.id, definition),
            Err(Error::Db(error)) if !matches!(error, DbError::Column(_)) => return Err(error),
            Err(Error::NotSerialized(dag_id)) => _ = found.lost.insert(dag_id),
            Err(error) => found.set_aside.push((run.run.dag_id, error.to_string())),
        }
    }
    Ok(definitions)
}

fn read(row: Scheduled, definition: Option<&Definition>, multi_team: bool, texts: &mut Texts) -> Read {
    let dag = definition.map(Definition::dag);
    let task = dag.and_then(|dag| dag.find(&row.key.task_id).map(|task| dag[task].details()));
    let limits = DagLimits {
        max_active_tasks: row.max_active_tasks,
        is_paused: row.is_paused,
        team: row.team_name.filter(|_| multi_team).map(|team| texts.shared(team)),
    };
    let candidate = Candidate {
        key: InstanceKey {
            dag_id: texts.shared(row.key.dag_id),
            run_id: texts.shared(row.key.run_id),
            task_id: texts.shared(row.key.task_id),
            map_index: row.key.map_index,
        },
        priority_weight: row.priority_weight.unwrap_or(1).into(),
        run_after: row.run_after,
        is_backfill: row.run_type == RunType::Backfill,
        waiting_since: row.scheduled_dttm.unwrap_or(row.run_after),
        pool: texts.shared(row.pool),
        pool_slots: row.pool_slots,
        executor: row.executor.map(|executor| texts.shared(executor)),
        max_active_tis_per_dag: task.and_then(|task| task.max_active_tis_per_dag),
        max_active_tis_per_dagrun: task.and_then(|task| task.max_active_tis_per_dagrun),
    };
    Read { id: row.id, dag_run_id: row.dag_run_id, candidate, limits }
}

/// Texts that repeat, held once.
#[derive(Default)]
struct Texts(HashMap<String, Arc<str>>);

impl Texts {
    fn shared(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.0.get(&text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = Arc::from(text.as_str());
        self.0.insert(text, Arc::clone(&shared));
        shared
    }
}
