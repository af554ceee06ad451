//! What is said between a task's process and its supervisor.

use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_execution::task_instance::model::StateUpdate;
use ferroflow_execution::{Patience, Refusal, SdkVersion, Service, TaskRequests};
use ferroflow_model::state::TaskState;
use ferroflow_python::frame::{self, Frame};
use ferroflow_python::message::{get, map};
use ferroflow_python::{Answer, Answers as _, Error, LogChannel, Sink};
use ferroflow_telemetry::{chain, clock};
use rmpv::Value;
use tokio::net::UnixStream;
use tokio::sync::watch;

use super::{Supervision, Watcher};
use crate::Workload;
use crate::task_log::TaskLog;
use crate::templates::Origin;

/// What the official supervisor calls what it cannot make sense of.
const NOT_UNDERSTOOD: &str = "API_SERVER_ERROR";

/// How far a task has come, as seen from outside of the conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The state that it told, and that is in its row.
    pub(super) told: Option<TaskState>,
    /// Whether its state is being written.
    pub(super) is_delivering: bool,
}

/// The conversation with one task.
pub(super) struct Conversation<'a> {
    supervision: &'a Supervision,
    requests: TaskRequests,
    workload: &'a Workload,
    log: &'a Arc<TaskLog>,
    watcher: &'a dyn Watcher,
    origin: Origin,
    progress: watch::Sender<Progress>,
    /// Logs of processes that the task's process has become or started.
    more_logs: Mutex<Vec<LogChannel>>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        supervision: &'a Supervision,
        service: Service,
        workload: &'a Workload,
        log: &'a Arc<TaskLog>,
        watcher: &'a dyn Watcher,
        (origin, sdk): (Origin, SdkVersion),
    ) -> Self {
        Self {
            requests: TaskRequests { service, instance: workload.ti.id, sdk, runs: supervision.runs.clone() },
            supervision,
            workload,
            log,
            watcher,
            origin,
            progress: watch::Sender::new(Progress::default()),
            more_logs: Mutex::default(),
        }
    }

    /// The state that the task told, and that is in its row.
    pub(super) fn told(&self) -> Option<TaskState> {
        self.progress.borrow().told
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(super) fn log(&self) -> &TaskLog {
        self.log
    }

    /// Tells the process what to run and answers what it asks, until it closes its end.
    pub(super) async fn talk(&self, mut channel: UnixStream, startup: Value) {
        match self.exchange(&mut channel, startup).await {
            // A process that ends closes its end in the middle of anything; how it ended says more.
            Ok(()) | Err(Error::Io(_)) => {}
            // The socket is closed, whereupon the process gives up.
            Err(error) => {
                let event = "A message of the task cannot be read, and the task is given up. Either it is too large, or \
                             the task wrote to file descriptor 0, which belongs to its supervisor.";
                self.log.say("error", event, &[("problem", chain(&error).into())]);
            }
        }
    }

    /// Reads what is left in the logs of processes that were started besides.
    pub(super) async fn finish_logs(&self) {
        let logs = std::mem::take(&mut *self.more_logs.lock().unwrap_or_else(PoisonError::into_inner));
        for log in logs {
            log.finish().await;
        }
    }

    async fn exchange(&self, channel: &mut UnixStream, startup: Value) -> Result<(), Error> {
        frame::write(channel, Frame { id: 0, body: startup, third: Value::Nil }).await?;
        self.origin.begun();
        while let Some(Frame { id, body, .. }) = frame::read(channel).await? {
            let kind = get(&body, "type").and_then(Value::as_str).unwrap_or_default().to_owned();
            let answer = match kind.as_str() {
                "ResendLoggingFD" => {
                    self.send_log_channel(channel, id).await?;
                    continue;
                }
                "SucceedTask" | "RetryTask" | "DeferTask" | "RescheduleTask" | "AwaitInputTask"
                | "TaskState" => self.report(&kind, body).await,
                _ => self.requests.answer(&kind, body).await,
            };
            let (body, third) = answer.into_parts();
            frame::write(channel, Frame { id, body, third }).await?;
        }
        Ok(())
    }

    /// Puts the state that the task tells into its row, at once: others wait for it.
    async fn report(&self, kind: &str, body: Value) -> Answer {
        let update = match ferroflow_execution::read::<StateUpdate>(kind, &with_end_date(body)) {
            Ok(update) => update,
            Err(refusal) => return refusal.told(kind, NOT_UNDERSTOOD),
        };
        self.watcher.telling(true);
        self.progress.send_modify(|progress| progress.is_delivering = true);
        let delivered = self.deliver(&update).await;
        self.progress.send_modify(|progress| {
            progress.is_delivering = false;
            // What is refused does not undo what was told before, by a process that was forked from it, say.
            if delivered.is_ok() {
                progress.told = Some(update.state());
            }
        });
        match delivered {
            Ok(()) => {
                self.watcher.state_set(update.state());
                Answer::Done
            }
            Err(refusal) => {
                self.watcher.telling(false);
                refusal.told(kind, NOT_UNDERSTOOD)
            }
        }
    }

    async fn deliver(&self, update: &StateUpdate) -> Result<(), Refusal> {
        let (service, id) = (&self.requests.service, self.workload.ti.id);
        let mut may_be_done = false;
        let mut patience = Patience::new("state", self.supervision.patience());
        loop {
            match service.set_state(id, update).await {
                Ok(_) => return Ok(()),
                // A try that is followed by another has gone into the history, with its id; one that waited may have
                // been moved on already.
                Err(refusal) if may_be_done && matches!(refusal.status(), Some(404 | 409)) => return Ok(()),
                Err(refusal) => {
                    may_be_done |= refusal.is_outcome_unknown();
                    if !patience.again(&refusal).await {
                        return Err(refusal);
                    }
                }
            }
        }
    }

    async fn send_log_channel(&self, channel: &mut UnixStream, id: u64) -> Result<(), Error> {
        let sink = Arc::clone(self.log) as Arc<dyn Sink>;
        let (log, end) = LogChannel::open(&sink)?;
        self.more_logs.lock().unwrap_or_else(PoisonError::into_inner).push(log);
        // The number is ours; the process learns its own from the descriptor that comes along.
        let body = map([("fds", Value::Array(vec![0.into()])), ("type", "SentFDs".into())]);
        frame::write_with_descriptor(channel, Frame { id, body, third: Value::Nil }, end.as_fd()).await
    }
}

/// A failure may come without its time.
fn with_end_date(mut body: Value) -> Value {
    if let Value::Map(entries) = &mut body
        && let Some((_, date)) = entries.iter_mut().find(|(key, _)| key.as_str() == Some("end_date"))
        && date.is_nil()
    {
        *date = clock::now().to_string().into();
    }
    body
}
