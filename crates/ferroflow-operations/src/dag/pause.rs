//! DAGs are paused, or go on.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag;
use regex::Regex;

use super::find_row;
use crate::{AuditAction, OperationError, Operations};

/// Which DAGs to pause, or to let go on.
#[derive(Clone, Copy, Debug)]
pub struct PauseRequest<'a> {
    pub dags: WhichDags<'a>,
    /// False to let them go on.
    pub is_paused: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum WhichDags<'a> {
    Named(&'a str),
    /// Those in whose ids the expression finds something.
    Matching(&'a Regex),
}

/// The DAGs that would change.
#[must_use]
pub struct PauseChange<'a> {
    operations: &'a Operations,
    is_paused: bool,
    pub dag_ids: Vec<String>,
}

/// Finds the DAGs that are asked for and are not so already.
pub async fn pause<'a>(
    operations: &'a Operations,
    request: PauseRequest<'_>,
) -> Result<PauseChange<'a>, OperationError> {
    let PauseRequest { dags, is_paused } = request;
    let event = if is_paused { "dag_pause" } else { "dag_unpause" };
    operations.audit(&AuditAction { event, dag_id: Some(dags.text()), ..AuditAction::default() }).await;
    let dag_ids = match dags {
        WhichDags::Matching(pattern) => matching(operations, pattern, !is_paused).await?,
        WhichDags::Named(dag_id) => named(operations, dag_id, !is_paused).await?,
    };
    Ok(PauseChange { operations, is_paused, dag_ids })
}

impl PauseChange<'_> {
    /// Changes them, and returns those that were changed: another request may have been faster. Schedulers are notified.
    pub async fn apply(self) -> Result<Vec<String>, OperationError> {
        let (dag_ids, is_paused) = (&self.dag_ids, self.is_paused);
        let changed = self.operations.db.transact(|tx| {
            async move {
                let mut changed = Vec::new();
                for dag_id in dag_ids {
                    if dag::pause::set(tx, dag_id, is_paused).await? {
                        changed.push(dag_id.clone());
                    }
                }
                Ok(changed)
            }
            .scope_boxed()
        });
        Ok(changed.await?)
    }
}

impl WhichDags<'_> {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Named(dag_id) => dag_id,
            Self::Matching(pattern) => pattern.as_str(),
        }
    }
}

/// Of the DAGs that are paused or not, those that a pattern finds.
async fn matching(
    operations: &Operations,
    pattern: &Regex,
    is_paused: bool,
) -> Result<Vec<String>, OperationError> {
    let read = operations.db.read(|tx| async move { dag::pause::names(tx, is_paused).await }.scope_boxed());
    Ok(read.await?.into_iter().filter(|dag_id| pattern.is_match(dag_id)).collect())
}

/// The DAG, if it is paused or not.
async fn named(
    operations: &Operations,
    dag_id: &str,
    is_paused: bool,
) -> Result<Vec<String>, OperationError> {
    let row = find_row(&operations.db, dag_id).await?;
    Ok(if row.is_paused == is_paused { vec![row.dag_id] } else { Vec::new() })
}
