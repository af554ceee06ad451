//! Callbacks that executors run: what they may ask, and where their rows stand.

use ferroflow_db::callback::due::{Holder, HolderProcess, QueuedCallback};
use ferroflow_db::{ScopedFutureExt as _, callback};
use ferroflow_model::state::CallbackState;
use uuid::Uuid;

use crate::{Refusal, Service};

/// What Airflow's scheduler notes of a callback whose process did not end well. Why, its log tells.
pub const EXECUTION_FAILED: &str = "Execution failed";

impl Service {
    /// Notes that a queued callback runs, as this process, and who has it then. `None` if it is not queued any more, or
    /// not for this scheduler: then it must not be called. The same process, seen at the same time, may ask again.
    pub async fn callback_begins(
        &self,
        id: Uuid,
        job_id: i64,
        process: HolderProcess,
    ) -> Result<Option<QueuedCallback>, Refusal> {
        let queued =
            QueuedCallback { id, state: CallbackState::Queued, holder: Holder { job_id, process: None } };
        let running = QueuedCallback {
            state: CallbackState::Running,
            holder: Holder { job_id, process: Some(process) },
            ..queued
        };
        let output = running.holder.to_string();
        let has_begun = self.pass_callback_on(&queued, CallbackState::Running, Some(&output)).await?
            || self.pass_callback_on(&running, CallbackState::Running, Some(&output)).await?;
        Ok(has_begun.then_some(running))
    }

    /// Notes that a callback in hand could not be called, or did not end well.
    pub async fn callback_failed(&self, callback: &QueuedCallback, reason: &str) -> Result<bool, Refusal> {
        self.pass_callback_on(callback, CallbackState::Failed, Some(reason)).await
    }

    /// Notes that a callback in hand was called and has ended well.
    pub async fn callback_succeeded(&self, callback: &QueuedCallback) -> Result<bool, Refusal> {
        self.pass_callback_on(callback, CallbackState::Success, None).await
    }

    async fn pass_callback_on(
        &self,
        seen: &QueuedCallback,
        state: CallbackState,
        output: Option<&str>,
    ) -> Result<bool, Refusal> {
        let passed = self
            .db
            .transact(|tx| async move { callback::due::end(tx, seen, state, output).await }.scope_boxed());
        Ok(passed.await?)
    }
}
