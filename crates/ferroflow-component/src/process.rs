//! A process in which components run: its signals, its metrics, and its runtime from start to end.

use ferroflow_telemetry::metrics::{Installed, Shown};

use crate::{Error, JobType, Runtime, Session, Shutdown, StateReports, block_on_threads};

/// What a process has once, whatever runs in it.
pub struct Process {
    pub shutdown: Shutdown,
    metrics: Installed,
    states: StateReports,
}

/// Runs one component in a process of its own, until it ends or a signal ends it. A signal that comes while it still
/// starts just ends it.
pub fn run_component<E: From<Error>>(
    session: &Session,
    job_type: JobType,
    component: impl AsyncFnOnce(&Runtime, &Shutdown) -> Result<(), E>,
) -> Result<(), E> {
    block_on_threads(async {
        let process = Process::begin(session, job_type.health_endpoint(&session.settings).is_some())?;
        let started = tokio::select! {
            started = Box::pin(start(session, job_type, &process)) => started,
            () = process.shutdown.stop.cancelled() => return Ok(()),
        };
        let runtime = started?;
        let outcome = Box::pin(component(&runtime, &process.shutdown)).await;
        process.end(&runtime).await;
        outcome
    })
}

async fn start(session: &Session, job_type: JobType, process: &Process) -> Result<Runtime, Error> {
    let runtime = Runtime::connect(session, Vec::new()).await?.in_process(process);
    let ready = runtime.python_ready().await;
    ready
        .map_err(|source| Error::NotStarted { component: job_type.component(), source: Box::new(source) })?;
    Ok(runtime)
}

impl Process {
    /// Begins to follow signals and to send metrics; `shows_metrics` keeps them for Prometheus, too.
    pub fn begin(session: &Session, shows_metrics: bool) -> Result<Self, Error> {
        let states = StateReports::default();
        let metrics = session.send_metrics(shows_metrics)?;
        let reports = states.clone();
        let shutdown = Shutdown::on_signals(move || reports.log()).map_err(Error::Signals)?;
        Ok(Self { shutdown, metrics, states })
    }

    pub(crate) fn shown_metrics(&self) -> Option<Shown> {
        self.metrics.prometheus.clone()
    }

    pub(crate) fn states(&self) -> &StateReports {
        &self.states
    }

    /// Closes the runtime, and sends the last metrics.
    pub async fn end(&self, runtime: &Runtime) {
        runtime.close().await;
        tokio::task::block_in_place(|| self.metrics.flush());
    }
}
