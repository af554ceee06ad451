//! A DAG is deleted, with all that the database has about it.

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag::delete::{self, Deleted};
use ferroflow_db::notifications::{self, Notification};

use super::unknown;
use crate::{AuditAction, OperationError, Operations};

/// A DAG that would be deleted.
#[must_use]
pub struct DagDeletion<'a> {
    operations: &'a Operations,
    dag_id: &'a str,
}

/// Begins to delete a DAG. It comes back with the next parse of its file, without its history, if that is still there.
pub async fn delete<'a>(operations: &'a Operations, dag_id: &'a str) -> DagDeletion<'a> {
    let action = AuditAction { event: "dag_delete", dag_id: Some(dag_id), ..AuditAction::default() };
    operations.audit(&action).await;
    DagDeletion { operations, dag_id }
}

impl DagDeletion<'_> {
    /// Deletes it, unless one of its tasks runs, and returns how many rows are gone. Schedulers are notified.
    pub async fn apply(self) -> Result<u64, OperationError> {
        let Self { operations, dag_id } = self;
        let deleted = operations.db.transact(|tx| {
            async move {
                let deleted = delete::delete(tx, dag_id).await?;
                if let Deleted::Rows(_) = deleted {
                    notifications::notify(tx, Notification::Dags).await?;
                }
                Ok(deleted)
            }
            .scope_boxed()
        });
        match deleted.await? {
            Deleted::Rows(rows) => Ok(rows),
            Deleted::Unknown => Err(unknown(&operations.db, dag_id).await),
            Deleted::StillRunning { run_id, task_id } => Err(OperationError::conflict(
                "still_running",
                format!(
                    "task {task_id} of run {run_id} still runs; mark it or let it end before its DAG is deleted"
                ),
            )),
        }
    }
}
