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

/// What came of heartbeats.
#[derive(Debug, Default)]
pub struct Heard {
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
    pub async fn heartbeats(&self, hostname: &str, running: &[(Uuid, i32)]) -> Result<Heard, Refusal> {
        if running.is_empty() {
            return Ok(Heard::default());
        }
        let now = clock::now();
        let looked = self.db.transact(|tx| {
            async move {
                let heard = pulse::beat(tx, hostname, running, now).await?;
                let unheard: Vec<(Uuid, i32)> =
                    running.iter().filter(|one| !heard.contains(one)).copied().collect();
                let found = look(tx, &unheard).await?;
                Ok((unheard, found))
            }
            .scope_boxed()
        });
        let (unheard, found) = looked.await?;
        let mut heard = Heard::default();
        for (id, pid) in unheard {
            match why_not(found.get(&id), Some((hostname, pid))) {
                Some(refusal) => heard.refused.push((id, refusal)),
                None => heard.locked.push(id),
            }
        }
        Ok(heard)
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
    if running.is_empty() {
        return Ok(HashMap::new());
    }
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
