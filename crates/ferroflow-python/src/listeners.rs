//! Listeners of plugins that hear what a scheduler has done.
//!
//! What happens is put into a queue after it is committed, and told from there, one thing after the other, in a process of
//! its own: a slow listener slows only itself. What finds the queue full is counted, and not told.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ferroflow_model::key::RunKey;
use ferroflow_telemetry::metrics::user_code::{self, Kind};
use ferroflow_telemetry::{chain, clock};
use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use crate::ForkServer;
use crate::helper::{Helper, HelperError};
use crate::quarantine::{Deed, Quarantine};

/// How much waits to be told at most.
const MAX_UNTOLD: usize = 10_000;

/// Something that listeners may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The scheduler with this job starts.
    Starting(i64),
    /// It is about to stop.
    Stopping(i64),
    /// A run has started.
    RunRunning(RunKey),
    /// A run has ended well.
    RunSuccess(RunKey),
    /// A run has ended badly: how, in Airflow's word.
    RunFailed(RunKey, &'static str),
    /// A try of a task has failed that could not tell so itself.
    TaskFailed {
        /// The run.
        run: RunKey,
        /// The task,
        task_id: String,
        /// which of its copies
        map_index: i32,
        /// and why.
        error: String,
    },
}

/// The listeners of an installation, at work.
pub struct SchedulerListeners {
    queue: Sender<Happened>,
    untold: Arc<AtomicU64>,
    telling: JoinHandle<()>,
}

impl SchedulerListeners {
    /// Starts to tell what happens. A listener may take up to `limit` (`[ferroflow] user_code_timeout`) each time.
    pub fn start(server: ForkServer, limit: Duration) -> Self {
        let (queue, happened) = channel(MAX_UNTOLD);
        let told = Telling {
            helper: Helper::new(server, "listeners of the scheduler"),
            limit,
            quarantine: Quarantine::default(),
        };
        Self { queue, untold: Arc::default(), telling: tokio::spawn(told.tell_all(happened)) }
    }

    /// Queues an event. Nothing waits for its listeners.
    pub fn tell(&self, happened: Happened) {
        // A queue that is closed has no listener.
        if let Err(TrySendError::Full(happened)) = self.queue.try_send(happened) {
            user_code::untold(Kind::Listeners, 1);
            let before = self.untold.fetch_add(1, Ordering::Relaxed);
            if before.is_multiple_of(1000) {
                let untold = before + 1;
                tracing::warn!(
                    ?happened,
                    untold,
                    "listeners are too slow, and are not told of all that happens"
                );
            }
        }
    }

    /// Has what is left told, for so long at most.
    pub async fn finish(self, patience: Duration) {
        let Self { queue, mut telling, .. } = self;
        drop(queue);
        if tokio::time::timeout(patience, &mut telling).await.is_err() {
            tracing::warn!("listeners were not told of all that has happened: they take too long");
            telling.abort();
        }
    }
}

/// What tells.
struct Telling {
    helper: Helper,
    limit: Duration,
    quarantine: Quarantine,
}

impl Telling {
    async fn tell_all(mut self, mut happened: Receiver<Happened>) {
        let mut heard = self.hooks().await;
        while let Some(event) = happened.recv().await {
            if heard.is_none() {
                heard = self.hooks().await;
            }
            let Some(hooks) = &heard else {
                user_code::untold(Kind::Listeners, 1);
                continue;
            };
            if hooks.is_empty() {
                return;
            }
            if hooks.contains(event.hook()) {
                self.tell(&event).await;
            }
        }
    }

    /// The hooks that a listener implements; `None` if they could not be asked for.
    async fn hooks(&self) -> Option<HashSet<String>> {
        let answer = self.helper.call("scheduler_listener.hears", json!({}), self.limit).await;
        let hooks = answer.and_then(|answer| {
            serde_json::from_value(answer).map_err(|problem| HelperError::Malformed {
                purpose: "listeners of the scheduler".to_owned(),
                why: problem.to_string(),
            })
        });
        hooks.inspect_err(|error| tracing::warn!("listeners cannot be asked for: {}", chain(error))).ok()
    }

    async fn tell(&mut self, event: &Happened) {
        let hook = event.hook();
        if self.quarantine.admit(hook, 1, clock::now()).is_err() {
            user_code::untold(Kind::Listeners, 1);
            return;
        }
        let method = format!("scheduler_listener.{hook}");
        match self.helper.call(&method, event.params(), self.limit).await {
            Ok(_) => self.quarantine.forgive(hook, &method),
            Err(error) => {
                user_code::failed(Kind::Listeners);
                tracing::warn!(hook, ?event, "a listener has failed: {}", chain(&error));
                if error.cost_a_process() {
                    let deed = Deed { whose: hook, method: &method, error: &error };
                    self.quarantine.note(hook, deed, clock::now());
                }
            }
        }
    }
}

impl Happened {
    fn hook(&self) -> &'static str {
        match self {
            Self::Starting(_) => "on_starting",
            Self::Stopping(_) => "before_stopping",
            Self::RunRunning(_) => "on_dag_run_running",
            Self::RunSuccess(_) => "on_dag_run_success",
            Self::RunFailed(..) => "on_dag_run_failed",
            Self::TaskFailed { .. } => "on_task_instance_failed",
        }
    }

    fn params(&self) -> Value {
        let run = |run: &RunKey, msg: &str| json!({"dag_id": run.dag_id, "run_id": run.run_id, "msg": msg});
        match self {
            Self::Starting(job_id) | Self::Stopping(job_id) => json!({"job_id": job_id}),
            Self::RunRunning(name) => run(name, "started"),
            Self::RunSuccess(name) => run(name, "success"),
            Self::RunFailed(name, how) => run(name, how),
            Self::TaskFailed { run, task_id, map_index, error } => json!({
                "dag_id": run.dag_id,
                "run_id": run.run_id,
                "task_id": task_id,
                "map_index": map_index,
                "error": error,
            }),
        }
    }
}
