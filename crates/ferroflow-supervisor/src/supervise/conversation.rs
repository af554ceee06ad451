//! What is said between a task's process and its supervisor.

use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_execution::wire::{Asker, TaskRequests, state_update};
use ferroflow_execution::{Delivered, Reports};
use ferroflow_model::state::TaskState;
use ferroflow_python::frame::{self, Frame};
use ferroflow_python::message::{get, map};
use ferroflow_python::{Answer, Answers as _, Error, LogChannel, Output, Remains, Sink};
use ferroflow_telemetry::chain;
use rmpv::Value;
use tokio::net::UnixStream;
use tokio::sync::watch;

use super::Observed;
use crate::ExecuteTask;
use crate::task_log::TaskLog;
use crate::zygotes::Origin;

/// What the official supervisor calls what it cannot make sense of.
const NOT_UNDERSTOOD: &str = "API_SERVER_ERROR";

/// How far a task has come, as seen from outside of the conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The state that it reported, and that is in its row.
    pub(super) reported: Option<TaskState>,
    /// Whether its state is being written.
    pub(super) is_delivering: bool,
}

/// The conversation with one task.
pub(super) struct Conversation<'a> {
    requests: TaskRequests,
    log: &'a Arc<TaskLog>,
    reports: &'a Reports<'a>,
    observed: &'a Observed<'a>,
    origin: Origin,
    progress: watch::Sender<Progress>,
    /// What the task's process prints and logs.
    output: Output,
    /// Logs of processes that the task's process has become or started.
    more_logs: Mutex<Vec<LogChannel>>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        requests: TaskRequests,
        reports: &'a Reports<'a>,
        log: &'a Arc<TaskLog>,
        observed: &'a Observed<'a>,
        output: Output,
        origin: Origin,
    ) -> Self {
        Self {
            requests,
            reports,
            log,
            observed,
            origin,
            progress: watch::Sender::new(Progress::default()),
            output,
            more_logs: Mutex::default(),
        }
    }

    /// The state that the task reported, and that is in its row.
    pub(super) fn reported(&self) -> Option<TaskState> {
        self.progress.borrow().reported
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(super) fn cannot_be_killed(&self, remains: &Remains) {
        self.observed.task.cannot_be_killed(remains.clone());
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

    /// Reports the state that the task reports at once: others wait for it.
    async fn report(&self, kind: &str, body: Value) -> Answer {
        let update = match state_update(kind, body) {
            Ok(update) => update,
            Err(refusal) => return refusal.logged_answer(kind, NOT_UNDERSTOOD, &self.requests.asker),
        };
        // Once the state is in the row, what was logged before is in the log.
        self.catch_up_with_logs();
        self.observed.task.reports(true);
        self.progress.send_modify(|progress| progress.is_delivering = true);
        let delivered = self.reports.report_state(&update).await;
        self.progress.send_modify(|progress| {
            progress.is_delivering = false;
            // What is refused does not undo what was reported before, by a process that was forked from it, say.
            if delivered.is_ok() {
                progress.reported = Some(update.state());
            }
        });
        match delivered {
            Ok(Delivered::Stored) => {
                self.observed.state_set(update.state());
                Answer::Done
            }
            // What its row says now is for others to read.
            Ok(Delivered::MovedOn) => {
                self.observed.task.settled();
                Answer::Done
            }
            Err(refusal) => {
                // What there was no time for is reported once more when the process has ended.
                if self.reports.undelivered.state().is_none() {
                    self.observed.task.reports(false);
                }
                refusal.logged_answer(kind, NOT_UNDERSTOOD, &self.requests.asker)
            }
        }
    }

    fn catch_up_with_logs(&self) {
        self.output.catch_up();
        for log in self.more_logs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            log.output().catch_up();
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

pub(super) fn asker(workload: &ExecuteTask) -> Asker {
    let ti = &workload.ti;
    Asker {
        dag_id: Some(ti.dag_id.clone()),
        run_id: Some(ti.run_id.clone()),
        task_id: Some(ti.task_id.clone()),
        map_index: Some(ti.map_index),
        try_number: Some(ti.try_number),
        errand: None,
    }
}
