//! Task instances show that they live, and learn whether they should.

use std::collections::HashMap;

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::task_instance::heartbeat::{self, InstanceStatus};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock;
use serde_json::json;
use uuid::Uuid;

use super::attempt::not_found;
use crate::api::Heartbeat;
use crate::{Refusal, Service};

/// What came of heartbeats.
#[derive(Debug)]
pub struct HeartbeatAnswer {
    /// Those that should not live, and why.
    pub refused: Vec<(Uuid, Refusal)>,
    /// Those whose rows somebody else has locked: they live, and their rows do not say so yet.
    pub locked: Vec<Uuid>,
}

impl Service {
    /// A task instance shows that it lives. It is refused if it should not: then its process is to be ended.
    pub async fn heartbeat(&self, id: Uuid, beat: &Heartbeat) -> Result<(), Refusal> {
        let heard = self.heartbeats(&beat.hostname, &[(id, beat.pid)]).await?;
        heard.refused.into_iter().next().map_or(Ok(()), |(_, refusal)| Err(refusal))
    }

    /// The same for many on one host, each with its process. No row is waited for that somebody else has locked.
    pub async fn heartbeats(
        &self,
        hostname: &str,
        running: &[(Uuid, i32)],
    ) -> Result<HeartbeatAnswer, Refusal> {
        let unheard = self.beat(hostname, running).await?;
        let refused = self.no_longer_running_as(hostname, &unheard).await?;
        let is_refused = |process: &(Uuid, i32)| refused.iter().any(|(id, pid, _)| (*id, *pid) == *process);
        let locked = unheard.iter().filter(|process| !is_refused(process)).map(|(id, _)| *id).collect();
        Ok(HeartbeatAnswer {
            refused: refused.into_iter().map(|(id, _, refusal)| (id, refusal)).collect(),
            locked,
        })
    }

    /// They show that they live, and nobody looks why a row does not take that: the history of task instances, say, may be
    /// locked as a whole. Answers whose rows do not: they should not live, or somebody else has locked them.
    pub async fn beat(&self, hostname: &str, running: &[(Uuid, i32)]) -> Result<Vec<(Uuid, i32)>, Refusal> {
        if running.is_empty() {
            return Ok(Vec::new());
        }
        let now = clock::now();
        let beaten = self
            .db
            .transact(|tx| async move { heartbeat::record(tx, hostname, running, now).await }.scope_boxed());
        let heard = beaten.await?;
        Ok(running.iter().filter(|process| !heard.contains(process)).copied().collect())
    }

    /// Which of these should not run, or not as these processes on a host, and why. Nothing is written.
    pub async fn no_longer_running_as(
        &self,
        hostname: &str,
        running: &[(Uuid, i32)],
    ) -> Result<Vec<(Uuid, i32, Refusal)>, Refusal> {
        let ids: Vec<Uuid> = running.iter().map(|(id, _)| *id).collect();
        let found = self.look(&ids).await?;
        let refused = running.iter().filter_map(|(id, pid)| {
            let refusal = why_not(found.get(id), Some((hostname, *pid)))?;
            Some((*id, *pid, refusal))
        });
        Ok(refused.collect())
    }

    /// Which of these task instances do not run any more, whatever their processes, and why. Nothing is written.
    pub async fn no_longer_running(&self, ids: &[Uuid]) -> Result<Vec<(Uuid, Refusal)>, Refusal> {
        let found = self.look(ids).await?;
        Ok(ids.iter().filter_map(|id| Some((*id, why_not(found.get(id), None)?))).collect())
    }

    async fn look(&self, ids: &[Uuid]) -> Result<HashMap<Uuid, InstanceStatus>, Refusal> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.db.read(|tx| async move { heartbeat::statuses(tx, ids).await }.scope_boxed());
        Ok(found.await?.into_iter().collect())
    }
}

/// Why an instance should not run, or not in this process. Where it runs is asked before whether.
fn why_not(found: Option<&InstanceStatus>, process: Option<(&str, i32)>) -> Option<Refusal> {
    match found {
        None => Some(not_found()),
        Some(InstanceStatus::Archived) => Some(gone()),
        Some(InstanceStatus::Current { state, hostname, pid }) => {
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
