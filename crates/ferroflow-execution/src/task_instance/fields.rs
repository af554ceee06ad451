//! What a running task instance says of itself and of the tasks behind it.

use std::collections::BTreeMap;

use ferroflow_db::task_instance::{self, TaskInstance, heartbeat, rendered_fields, siblings};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_telemetry::clock;
use uuid::Uuid;

use super::attempt::not_found;
use super::heartbeat::gone;
use crate::api::SkippedTask;
use crate::{Refusal, Service};

impl Service {
    /// Keeps the templates of a task instance as they were rendered, its secrets masked already.
    pub async fn rendered_fields(&self, id: Uuid, fields: &Json) -> Result<(), Refusal> {
        let runs = self.rules.rendered_fields_runs;
        let kept = self.db.transact(|tx| {
            async move {
                let Some(TaskInstance { key, .. }) = task_instance::find(tx, id).await? else {
                    return absent(tx, id).await.map(Err);
                };
                rendered_fields::set(tx, &key, fields).await?;
                if let Some(runs) = runs.filter(|runs| *runs > 0) {
                    rendered_fields::prune(tx, &key.dag_id, &key.task_id, runs).await?;
                }
                Ok(Ok(()))
            }
            .scope_boxed()
        });
        kept.await?
    }

    /// Gives a task instance the name that people see in place of its map index.
    pub async fn set_rendered_map_index(&self, id: Uuid, name: &str) -> Result<(), Refusal> {
        let refuse = |status, text: &str| Refusal::Api { status, detail: text.into() };
        if name.is_empty() {
            return Err(refuse(422, "rendered_map_index cannot be empty"));
        }
        let now = clock::now();
        let is_there = self.db.transact(|tx| {
            async move { task_instance::execution::set_rendered_map_index(tx, id, name, now).await }
                .scope_boxed()
        });
        if is_there.await? { Ok(()) } else { Err(refuse(404, "Task Instance not found")) }
    }

    /// Skips tasks of the same run, but for those that run or have ended by themselves.
    pub async fn skip_downstream(&self, id: Uuid, tasks: &[SkippedTask]) -> Result<(), Refusal> {
        let mut by_index: BTreeMap<i32, Vec<&str>> = BTreeMap::new();
        for task in tasks {
            let (task_id, index) = match task {
                SkippedTask::Task(task_id) => (task_id, NOT_MAPPED),
                SkippedTask::Mapped(task_id, index) => (task_id, *index),
            };
            by_index.entry(index).or_default().push(task_id);
        }
        let (by_index, now) = (&by_index, clock::now());
        let skipped = self.db.transact(|tx| {
            async move {
                let Some(instance) = task_instance::find(tx, id).await? else { return Ok(Err(not_found())) };
                for (index, task_ids) in by_index {
                    siblings::skip(tx, &instance.key, *index, task_ids, now).await?;
                }
                Ok(Ok(()))
            }
            .scope_boxed()
        });
        skipped.await?
    }
}

/// Whether an id that is none of a current try is that of an earlier one.
async fn absent(tx: &mut Tx, id: Uuid) -> Result<Refusal, Error> {
    let is_archived = !heartbeat::statuses(tx, &[id]).await?.is_empty();
    Ok(if is_archived { gone() } else { not_found() })
}
