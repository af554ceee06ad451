//! Task instances show that they live, and learn whether they should.

use std::collections::HashMap;

use ferroflow_db::task_instance::pulse::{self, Pulse};
use ferroflow_db::{Error, ScopedFutureExt as _, Tx};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock;
use serde_json::json;
use uuid::Uuid;

use super::attempt::not_found;
use super::model::Heartbeat;
use crate::{Refusal, Service};

/// What there is under the ids of those that were not heard; nothing if all were.
type Looked = Option<HashMap<Uuid, Pulse>>;

impl Service {
    /// A task instance shows that it lives. It is refused if it should not: then its process is to be ended.
    pub async fn heartbeat(&self, id: Uuid, beat: &Heartbeat) -> Result<(), Refusal> {
        let refused = self.heartbeats(&beat.hostname, &[(id, beat.pid)]).await?;
        refused.into_iter().next().map_or(Ok(()), |(_, refusal)| Err(refusal))
    }

    /// The same for many on one host, each with its process. Returns those that should not live, and why.
    pub async fn heartbeats(
        &self,
        hostname: &str,
        running: &[(Uuid, i32)],
    ) -> Result<Vec<(Uuid, Refusal)>, Refusal> {
        if running.is_empty() {
            return Ok(Vec::new());
        }
        let now = clock::now();
        let looked = self.db.transact(|tx| {
            async move {
                let heard = pulse::beat(tx, hostname, running, now).await?;
                let all_heard = usize::try_from(heard) == Ok(running.len());
                let looked: Result<Looked, Error> =
                    if all_heard { Ok(None) } else { look(tx, running).await.map(Some) };
                looked
            }
            .scope_boxed()
        });
        let Some(found) = looked.await? else { return Ok(Vec::new()) };
        let refused = running.iter().filter_map(|(id, pid)| {
            let refusal = why_not(found.get(id), Some((hostname, *pid)))?;
            Some((*id, refusal))
        });
        Ok(refused.collect())
    }

    /// Which of these task instances do not run any more, and why. Nothing is written.
    pub async fn no_longer_running(&self, ids: &[Uuid]) -> Result<Vec<(Uuid, Refusal)>, Refusal> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.db.read(|tx| {
            async move { Ok(pulse::look(tx, ids).await?.into_iter().collect::<HashMap<_, _>>()) }
                .scope_boxed()
        });
        let found = found.await?;
        Ok(ids.iter().filter_map(|id| Some((*id, why_not(found.get(id), None)?))).collect())
    }
}

async fn look(tx: &mut Tx, running: &[(Uuid, i32)]) -> Result<HashMap<Uuid, Pulse>, Error> {
    let ids: Vec<Uuid> = running.iter().map(|(id, _)| *id).collect();
    Ok(pulse::look(tx, &ids).await?.into_iter().collect())
}

/// Why an instance should not run, or not in this process. Where it runs is asked before whether.
fn why_not(found: Option<&Pulse>, process: Option<(&str, i32)>) -> Option<Refusal> {
    match found {
        None => Some(not_found()),
        Some(Pulse::Archived) => Some(gone()),
        Some(Pulse::Current { state, hostname, pid }) => {
            let is_elsewhere = process
                .is_some_and(|(host, process)| hostname.as_deref() != Some(host) || *pid != Some(process));
            let detail = if is_elsewhere {
                json!({
                    "reason": "running_elsewhere",
                    "message": "TI is already running elsewhere",
                    "current_hostname": hostname,
                    "current_pid": pid,
                })
            } else if state.as_deref() != Some(TaskState::Running.as_str()) {
                json!({
                    "reason": "not_running",
                    "message": "TI is no longer in the running state and task should terminate",
                    "current_state": state,
                })
            } else {
                return None;
            };
            Some(Refusal::Api { status: 409, detail })
        }
    }
}

/// That an id is that of an earlier try.
pub(super) fn gone() -> Refusal {
    let message = "Task Instance not found, it may have been moved to the Task Instance History table";
    Refusal::api(410, "not_found", message)
}
