//! The supervisor of one task instance: its process, from its start to its end.
//!
//! A child of Python's fork server runs the task; this side tells it what to run, answers what it asks, writes its
//! log, and sees to it that what became of it is in the database, whatever happens to the process.

mod attend;
mod conversation;
mod exit_log;
mod startup;

use std::sync::Arc;
use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_execution::api::{ExecutionApi, RunContext};
use ferroflow_execution::wire::{Client, NoSdkVersion, SdkVersion, TaskRequests};
use ferroflow_execution::{HeldSlot, Host, MaskRules, Masker, Reports, Undelivered};
use ferroflow_model::state::TaskState;
use ferroflow_model::supervision::Ending;
use ferroflow_python::{Child, ForkServer, Remains, Sink};
use ferroflow_telemetry::chain;
use tokio_util::sync::CancellationToken;

use crate::ExecuteTask;
use crate::room::when_there_is_room;
use crate::running::RunningTask;
use crate::task_log::{TaskLog, TaskLogs};
use crate::zygotes::Zygotes;
pub(crate) use attend::{GRACE, how};
use conversation::Conversation;

/// How long a slot is held for a row that cannot be read. Who has spoilt one and notices may mend it in that time; one
/// that is never mended costs a slot for a minute, not for good.
const SLOT_HELD: Duration = Duration::from_mins(1);

/// What supervisors of one process have in common.
pub struct Supervision {
    /// What supervisors report to, and user code is answered by.
    pub api: Arc<dyn ExecutionApi>,
    pub settings: Arc<Settings>,
    pub host: Host,
    pub(crate) python: ForkServer,
    zygotes: Zygotes,
    pub(crate) logs: TaskLogs,
    /// Cancelled when this process has little time left.
    pub hurry: CancellationToken,
}

/// Why no task can be supervised.
#[derive(Debug, thiserror::Error)]
pub enum CannotSupervise {
    /// There is no Python that has loaded Airflow.
    #[error(transparent)]
    Python(#[from] ferroflow_python::Error),
    /// The messages of that Task SDK are not known.
    #[error(transparent)]
    Sdk(#[from] NoSdkVersion),
}

impl Supervision {
    /// Supervisors that report to `api`, whose tasks run in processes of `python`.
    pub fn new(
        api: Arc<dyn ExecutionApi>,
        python: ForkServer,
        settings: Arc<Settings>,
        host: Host,
        logs: TaskLogs,
    ) -> Self {
        if let Some(warning) = undone(&settings) {
            tracing::warn!("{warning}");
        }
        Self {
            zygotes: Zygotes::of(&settings),
            api,
            python,
            settings,
            host,
            logs,
            hurry: CancellationToken::new(),
        }
    }

    /// Waits until Python has loaded Airflow, and checks that its tasks can be supervised.
    pub async fn ready(&self) -> Result<(), CannotSupervise> {
        self.python.sdk_version().await?.parse::<SdkVersion>()?;
        Ok(())
    }
}

/// What happens to a task instance while it is supervised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// Its row has this state now. Its process may still be busy with what follows: callbacks, listeners.
    StateSet(TaskState),
    /// Its slot is free, but its state is not in its row yet, which cannot be read.
    Waits,
}

/// Where a supervisor says what happens to its task instance.
pub(crate) struct Observed<'a> {
    pub(crate) task: &'a RunningTask,
    on_event: &'a (dyn Fn(TaskEvent) + Send + Sync),
}

impl Observed<'_> {
    pub(crate) fn state_set(&self, state: TaskState) {
        self.task.settled();
        (self.on_event)(TaskEvent::StateSet(state));
    }

    fn give_slot_back(&self) {
        if self.task.give_slot_back() {
            (self.on_event)(TaskEvent::Waits);
        }
    }
}

/// A task instance that is not running any more.
#[derive(Debug)]
pub enum Supervised {
    /// Its process has ended, and its row tells what became of it.
    Ended,
    /// The same, but its process cannot be killed, and has its slot until it is gone.
    GivenUp(Remains),
    /// It was not started: why.
    NotStarted(String),
}

impl Supervision {
    /// Runs a task instance to its end, or until [`Running`](crate::Running) has it end.
    pub async fn supervise(
        &self,
        workload: &ExecuteTask,
        task: &RunningTask,
        on_event: &(dyn Fn(TaskEvent) + Send + Sync),
    ) -> Supervised {
        let (observed, mut order) = (Observed { task, on_event }, task.orders());
        let masker = Arc::new(Masker::new(MaskRules::of(&self.settings)));
        let api = self.api.of_workload(&workload.token);
        let client = Client { api: Arc::clone(&api), masker: Arc::clone(&masker) };
        let log = self.logs.log_of(workload.log_path.as_deref(), Some(&workload.ti), masker);
        let sink: Arc<dyn Sink> = Arc::clone(&log) as Arc<dyn Sink>;
        let start = || async {
            log.open()?;
            self.zygotes.fork(&self.python, workload, &sink).await
        };
        // A process comes from where its file is imported first, which may take long.
        let forked = tokio::select! {
            forked = when_there_is_room("a task", start) => forked.map_err(|error| chain(&error)),
            _ = order.wait_for(Option::is_some) => Err("it was told to end before it had begun".to_owned()),
        };
        let (mut child, origin) = match forked {
            Ok(forked) => forked,
            Err(reason) => return Supervised::NotStarted(reason),
        };
        let give_back = || observed.give_slot_back();
        let reports = self.reports(&api, workload, child.pid(), &give_back);
        let (sdk, context) = match self.start(&reports, &child).await {
            Ok(started) => started,
            Err(reason) => {
                // It has not been told yet what to run.
                drop(child.end().await);
                return Supervised::NotStarted(reason);
            }
        };
        task.started(child.pid());
        let asker = conversation::asker(workload);
        let requests = TaskRequests { client, instance: workload.ti.id, asker, sdk };
        let conversation = Conversation::new(requests, &reports, &log, &observed, child.output(), origin);
        let startup = startup::details(workload, &context, sdk);
        let ending = attend::attend(&mut child, &conversation, startup, order, self.overtime()).await;
        let remains = child.into_remains();
        settle(&reports, ending, &log, &observed).await;
        remains.map_or(Supervised::Ended, Supervised::GivenUp)
    }

    /// Ends prewarmed processes, and the waits for those that cannot be killed.
    pub fn close(&self) {
        self.zygotes.close();
    }

    /// Waits until a process is gone that cannot be killed, unless the executor stops.
    pub async fn until_gone(&self, remains: &Remains) {
        tokio::select! {
            () = remains.gone() => {}
            () = self.zygotes.closed() => {}
        }
    }

    fn reports<'a>(
        &'a self,
        api: &'a Arc<dyn ExecutionApi>,
        workload: &ExecuteTask,
        pid: i32,
        give_back: &'a (dyn Fn() + Send + Sync),
    ) -> Reports<'a> {
        let (id, try_number, key) = (workload.ti.id, workload.ti.try_number, workload.ti.key());
        let slot = HeldSlot { at_most: SLOT_HELD, give_back };
        Reports {
            api,
            id,
            key,
            try_number,
            host: &self.host,
            pid,
            hurry: &self.hurry,
            slot,
            undelivered: Undelivered::default(),
        }
    }

    /// Asks for leave to run in this process.
    async fn start(&self, reports: &Reports<'_>, child: &Child) -> Result<(SdkVersion, RunContext), String> {
        let sdk = child.sdk_version().parse().map_err(|unknown: NoSdkVersion| unknown.to_string())?;
        let context = reports.begin().await.map_err(|refusal| chain(&refusal))?;
        Ok((sdk, context))
    }

    /// How long callbacks and listeners may take once the state is reported.
    fn overtime(&self) -> Duration {
        self.settings.core.task_success_overtime
    }
}

/// Reports how it ended, if it has not reported that itself.
async fn settle(reports: &Reports<'_>, ending: Ending, log: &TaskLog, observed: &Observed<'_>) {
    // What it reported counts, though it is not stored yet.
    exit_log::write(log, Ending { reported: ending.reported.or(reports.undelivered.state()), ..ending });
    match reports.end(ending).await {
        Ok(Some(state)) => observed.state_set(state),
        Ok(None) => {}
        // Its heartbeats are missing from now on: schedulers look for such tasks.
        Err(refusal) => {
            tracing::error!(id = %reports.id, "the end of a task cannot be reported: {}", chain(&refusal));
        }
    }
}

/// What the configuration asks for and is not done here.
fn undone(settings: &Settings) -> Option<&'static str> {
    settings.logging.remote_logging.then_some(
        "[logging] remote_logging is on, but the logs of tasks stay in [logging] base_log_folder on this host: they are \
         not uploaded yet",
    )
}

#[cfg(test)]
mod tests {
    use ferroflow_config::{Configuration, Environment};

    use super::*;

    #[test]
    fn remote_logging_is_warned_of() {
        let warning = |value: &str| {
            let environment = Environment::empty("/").with("AIRFLOW__LOGGING__REMOTE_LOGGING", value);
            undone(&Settings::load(&Configuration::load(&environment).unwrap()).unwrap())
        };
        assert_eq!(warning("False"), None);
        assert!(warning("True").unwrap().contains("remote_logging"));
    }
}
