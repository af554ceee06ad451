//! What a task keeps for its own later tries.

use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use uuid::Uuid;

use crate::{Refusal, Service};

impl Service {
    /// What a task keeps under a key, as JSON.
    pub async fn task_state(&self, instance: Uuid, key: &str) -> Result<String, Refusal> {
        let of = &self.key_of(instance).await?;
        let found = self
            .db
            .read(|tx| async move { task_instance::state_store::find(tx, of, key).await }.scope_boxed())
            .await?;
        found.ok_or_else(|| Refusal::api(404, "not_found", format!("Task state store key '{key}' not found")))
    }

    /// Keeps a value for a task, whatever was kept under its key.
    pub async fn set_task_state(
        &self,
        instance: Uuid,
        key: &str,
        value: &Json,
        expires_at: Option<Timestamp>,
    ) -> Result<(), Refusal> {
        let (of, now) = (&self.key_of(instance).await?, clock::now());
        let written = self.db.transact(|tx| {
            async move { task_instance::state_store::set(tx, of, key, value, expires_at, now).await }
                .scope_boxed()
        });
        if written.await? {
            return Ok(());
        }
        let TaskInstanceKey { dag_id, run_id, .. } = of;
        Err(Refusal::api(500, "no_run", format!("No DagRun found for dag_id='{dag_id}' run_id='{run_id}'")))
    }

    /// Drops what a task keeps under a key, if there is something.
    pub async fn delete_task_state(&self, instance: Uuid, key: &str) -> Result<(), Refusal> {
        let of = &self.key_of(instance).await?;
        let deleted = self.db.transact(|tx| {
            async move { task_instance::state_store::delete(tx, of, key).await }.scope_boxed()
        });
        Ok(deleted.await?)
    }

    /// Drops all that a task keeps.
    pub async fn clear_task_state(&self, instance: Uuid) -> Result<(), Refusal> {
        let of = &self.key_of(instance).await?;
        let cleared = self
            .db
            .transact(|tx| async move { task_instance::state_store::clear(tx, of).await }.scope_boxed());
        Ok(cleared.await?)
    }

    /// What a task instance is of.
    pub(crate) async fn key_of(&self, instance: Uuid) -> Result<TaskInstanceKey, Refusal> {
        let found =
            self.db.read(|tx| async move { task_instance::find(tx, instance).await }.scope_boxed()).await?;
        found
            .map(|instance| instance.key)
            .ok_or_else(|| Refusal::api(404, "not_found", format!("Task instance {instance} not found")))
    }
}
