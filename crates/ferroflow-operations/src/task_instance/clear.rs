//! Task instances are cleared: those of one DAG or of several that are selected begin anew.

use std::collections::{BTreeSet, HashMap};

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag::list::{self, TaggedDag};
use ferroflow_db::task_instance::clear::{self as rows, Selected, Selection};
use ferroflow_model::dag::Along;
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use regex::Regex;

use crate::dag::{self, WhichDags};
use crate::dag_run::clear_instances;
use crate::{AuditAction, OperationError, Operations};

/// Which task instances begin anew.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ClearRequest<'a> {
    pub dags: WhichDags<'a>,
    /// Of the DAGs that match, those of these bundles; all if none is named.
    pub bundles: &'a [String],
    /// Tasks whose ids have this text in them; all if not given.
    pub task_text: Option<&'a str>,
    /// With these tasks, all that they wait for.
    pub upstream: bool,
    /// With these tasks, all that wait for them.
    pub downstream: bool,
    /// Logical dates, from the first to the last.
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub only_failed: bool,
    pub only_running: bool,
}

/// What would be cleared, run by run.
#[must_use]
pub struct Clearing<'a> {
    operations: &'a Operations,
    pub runs: Vec<ToClear>,
}

/// What would be cleared of a run.
pub struct ToClear {
    pub dag_id: String,
    pub run_id: String,
    pub instances: Vec<Selected>,
}

/// What the audit log says of a clearing of DAGs: their id, or what it matches.
pub fn clear_action(dags: &str) -> AuditAction<'_> {
    AuditAction { dag_id: Some(dags), ..AuditAction::named("task_clear") }
}

/// Selects task instances to clear.
pub async fn clear<'a>(
    operations: &'a Operations,
    request: &ClearRequest<'_>,
) -> Result<Clearing<'a>, OperationError> {
    operations.audit(&clear_action(request.dags.text())).await;
    let mut runs = Vec::new();
    for dag_id in dag_ids(operations, request).await? {
        runs.extend(selected(operations, request, &dag_id).await?);
    }
    Ok(Clearing { operations, runs })
}

impl Clearing<'_> {
    /// Clears one run after the other; tells before each how many are done. What runs is stopped, and runs again; schedulers
    /// are notified. A run that is refused ends it: `Err` has its place and why.
    pub async fn apply(&self, mut tell: impl FnMut(usize)) -> Result<(), (usize, OperationError)> {
        let Operations { db, caller, .. } = self.operations;
        for (place, run) in self.runs.iter().enumerate() {
            tell(place);
            let ids: BTreeSet<_> = run.instances.iter().map(|instance| instance.id).collect();
            let cleared = clear_instances(db, &caller.unixname, &run.dag_id, &run.run_id, &ids).await;
            cleared.map_err(|error| (place, error))?;
        }
        Ok(())
    }
}

/// The DAGs that are meant, of which there has to be one.
async fn dag_ids(operations: &Operations, request: &ClearRequest<'_>) -> Result<Vec<String>, OperationError> {
    let pattern: &Regex = match request.dags {
        WhichDags::Named(dag_id) => return Ok(vec![dag_id.to_owned()]),
        WhichDags::Matching(pattern) => pattern,
    };
    let found = operations.db.read(|tx| async move { list::list(tx).await }.scope_boxed()).await?;
    let is_meant = |dag: &TaggedDag| {
        pattern.is_match(&dag.dag.dag_id)
            && (request.bundles.is_empty() || request.bundles.contains(&dag.dag.bundle_name))
    };
    let names: Vec<String> = found.into_iter().filter(is_meant).map(|dag| dag.dag.dag_id).collect();
    if names.is_empty() {
        let message = format!("no DAG has an id that {:?} is found in", pattern.as_str());
        return Err(OperationError::not_found(message));
    }
    Ok(names)
}

async fn selected(
    operations: &Operations,
    request: &ClearRequest<'_>,
    dag_id: &str,
) -> Result<Vec<ToClear>, OperationError> {
    let stored = dag::find(&operations.db, dag_id).await?;
    let task_ids = request.task_text.map(|text| {
        let along = Along { upstream: request.upstream, downstream: request.downstream };
        let tasks = stored.dag.subset(text, along);
        tasks.into_iter().map(|task| stored.dag[task].task_id.to_string()).collect()
    });
    let mut states = Vec::new();
    if request.only_failed {
        states.extend([TaskState::Failed, TaskState::UpstreamFailed]);
    }
    if request.only_running {
        states.push(TaskState::Running);
    }
    let selection =
        &Selection { dag_id: dag_id.to_owned(), from: request.from, to: request.to, states, task_ids };
    let found = operations.db.read(|tx| async move { rows::select(tx, selection).await }.scope_boxed());
    Ok(by_run(dag_id, found.await?))
}

fn by_run(dag_id: &str, found: Vec<Selected>) -> Vec<ToClear> {
    let mut runs: Vec<ToClear> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for instance in found {
        let place = *places.entry(instance.run_id.clone()).or_insert_with(|| {
            let (dag_id, run_id) = (dag_id.to_owned(), instance.run_id.clone());
            runs.push(ToClear { dag_id, run_id, instances: Vec::new() });
            runs.len() - 1
        });
        runs[place].instances.push(instance);
    }
    runs
}
