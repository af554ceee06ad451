//! One callback, from its queued row to its end.

use std::sync::Arc;

use ferroflow_execution::api::{CallbackProcess, ExecutionApi, HeldCallback};
use ferroflow_execution::wire::{CallbackRequests, Client};
use ferroflow_execution::{EXECUTION_FAILED, MaskRules, Masker, Patience, Refusal};
use ferroflow_model::supervision::Exit;
use ferroflow_python::message::{from_json, map};
use ferroflow_python::{Child, ChildLimits, Entry, Remains, Sink, serve};
use ferroflow_telemetry::{chain, clock};
use rmpv::Value;

use crate::ExecuteCallback;
use crate::room::when_there_is_room;
use crate::supervise::{GRACE, Supervision, how};
use crate::task_log::TaskLog;

impl Supervision {
    /// Runs a callback to its end, and reports how it ended. One that is not queued any more is left alone. Answers
    /// what is left of a process that cannot be killed.
    pub async fn run_callback(&self, workload: &ExecuteCallback) -> Option<Remains> {
        let mut remains = None;
        if let Err(refusal) = self.try_to_run_callback(workload, &mut remains).await {
            tracing::error!(id = %workload.id, "the end of a callback cannot be reported: {}", chain(&refusal));
        }
        remains
    }

    async fn try_to_run_callback(
        &self,
        workload: &ExecuteCallback,
        remains: &mut Option<Remains>,
    ) -> Result<(), Refusal> {
        let api = self.api.of_workload("");
        let masker = Arc::new(Masker::new(MaskRules::of(&self.settings)));
        let log = self.logs.log_of(Some(&workload.log_path), None, Arc::clone(&masker));
        let sink = Arc::clone(&log) as Arc<dyn Sink>;
        let fork = || async {
            log.open()?;
            self.python.fork(Entry::Callback, ChildLimits::default(), &sink).await
        };
        let mut child = match when_there_is_room("a callback", fork).await {
            Ok(child) => child,
            Err(error) => return self.not_started(workload, &api, &chain(&error)).await,
        };
        let Some(callback) = self.begin(workload, &api, child.pid()).await? else {
            // It does not know yet what to call.
            drop(child.end().await);
            tracing::warn!(id = %workload.id, "a callback is left alone: its row is not queued any more");
            return Ok(());
        };
        let client = Client { api: Arc::clone(&api), masker };
        let requests = CallbackRequests { client, callback: workload.id };
        let exit = self.attend(&mut child, first(workload), &requests, &log).await;
        *remains = child.into_remains();
        exit_log(&log, exit);
        let failure = (exit != Exit::Code(0)).then_some(EXECUTION_FAILED);
        self.end(&callback, &api, failure).await
    }

    /// Asks for leave to run it.
    async fn begin(
        &self,
        workload: &ExecuteCallback,
        api: &Arc<dyn ExecutionApi>,
        pid: i32,
    ) -> Result<Option<HeldCallback>, Refusal> {
        let process = CallbackProcess { pid, hostname: self.host.name.clone(), seen: clock::now() };
        let callback = HeldCallback { id: workload.id, job_id: workload.job_id, process: Some(process) };
        let mut patience = Patience::new("the start of a callback");
        loop {
            match patience.turn(api, &self.hurry).begin_callback(&callback).await {
                Err(refusal) if patience.again_until(&refusal, &self.hurry).await => {}
                begun => return Ok(begun?.then_some(callback)),
            }
        }
    }

    async fn attend(
        &self,
        child: &mut Child,
        first: Value,
        requests: &CallbackRequests,
        log: &TaskLog,
    ) -> Exit {
        let limit = self.settings.callbacks.callback_execution_timeout;
        let served = serve(child, first, requests);
        let Some(limit) = limit else { return how(&served.await) };
        if let Ok(exit) = tokio::time::timeout(limit, served).await {
            return how(&exit);
        }
        let event = "The callback took longer than [callbacks] callback_execution_timeout. It is ended.";
        log.say("warning", event, &[("seconds", limit.as_secs().into())]);
        how(&child.terminate(GRACE).await)
    }

    async fn not_started(
        &self,
        workload: &ExecuteCallback,
        api: &Arc<dyn ExecutionApi>,
        reason: &str,
    ) -> Result<(), Refusal> {
        tracing::error!(id = %workload.id, reason, "a callback could not be started");
        let queued = HeldCallback { id: workload.id, job_id: workload.job_id, process: None };
        self.end(&queued, api, Some(&format!("it could not be started: {reason}"))).await
    }

    /// Reports how it ended, as often as it takes: it is known nowhere else.
    async fn end(
        &self,
        callback: &HeldCallback,
        api: &Arc<dyn ExecutionApi>,
        failure: Option<&str>,
    ) -> Result<(), Refusal> {
        let mut patience = Patience::new("the end of a callback");
        loop {
            match patience.turn(api, &self.hurry).end_callback(callback, failure).await {
                Err(refusal) if patience.again_until(&refusal, &self.hurry).await => {}
                ended => return ended,
            }
        }
    }
}

/// What `callback.py` gets.
fn first(workload: &ExecuteCallback) -> Value {
    let bundle = &workload.bundle_info;
    map([
        ("id", workload.id.to_string().into()),
        ("data", workload.data.value().map_or(Value::Nil, from_json)),
        ("dag_rel_path", workload.dag_rel_path.as_str().into()),
        (
            "bundle_info",
            map([
                ("name", bundle.name.as_str().into()),
                ("version", bundle.version.as_deref().map_or(Value::Nil, Value::from)),
            ]),
        ),
    ])
}

/// How it ended, if that was no ordinary end.
fn exit_log(log: &TaskLog, exit: Exit) {
    let (level, event, details) = match exit {
        Exit::Code(0) => return,
        Exit::Code(code) => {
            ("warning", "The callback's process did not end well.", vec![("exit_code", code)])
        }
        Exit::Signal(number) => {
            ("critical", "The callback's process was ended by a signal.", vec![("signal", number)])
        }
        Exit::CannotBeKilled => (
            "critical",
            "The callback's process was killed and does not end: it waits in the kernel.",
            vec![],
        ),
        Exit::WithForkServer | Exit::WithZygote => {
            ("critical", "The callback's process has ended together with Python's fork server.", vec![])
        }
    };
    let details: Vec<(&str, serde_json::Value)> =
        details.into_iter().map(|(name, number)| (name, number.into())).collect();
    log.say(level, event, &details);
}
