//! The scheduler as a component: what its loop is made of, and how it ends.

use std::sync::Arc;

use ferroflow_component::serve_logs::LogServer;
use ferroflow_component::{Job, JobType, Runtime, Services, Shutdown, run_job};
use ferroflow_db::Dialect;
use ferroflow_execution::Service;
use ferroflow_executor::{
    BadExecutors, CannotSupervise, Resources, Supervision, TaskLogs, construct, executor_events,
    executor_names,
};
use ferroflow_python::descriptors;
use ferroflow_python::listeners::Happened;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_telemetry::clock::{self, signed};

use crate::chores::{OrphanRetries, RowRetries};
use crate::executors::Executors;
use crate::run::{Pace, RunSettings};
use crate::scheduler::{Loops, Parts, Scheduler};
use crate::{Context, Definitions, LOCK_PATIENCE, LogPaths, Questions, TemplateError};

/// How many runs are examined at a time, where the database takes more than one writer.
const RUNS_AT_A_TIME: usize = 4;

/// How a scheduler schedules, besides what the configuration says.
pub struct Options {
    pub loops: Loops,
    /// Whether the logs of its tasks are served.
    pub serves_logs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { loops: Loops::new(None, false), serves_logs: true }
    }
}

/// Why a scheduler cannot schedule. What goes wrong in a cycle is logged, and tried again.
#[derive(Debug, thiserror::Error)]
pub enum CannotSchedule {
    #[error(transparent)]
    Component(#[from] ferroflow_component::Error),
    #[error(transparent)]
    Executors(#[from] BadExecutors),
    #[error(transparent)]
    LogPaths(#[from] TemplateError),
    #[error("tasks cannot be run")]
    NoTasks(#[source] CannotSupervise),
}

/// Schedules until it is stopped, or has done all its loops; then waits for what runs.
pub async fn run(runtime: &Runtime, options: Options, shutdown: &Shutdown) -> Result<(), CannotSchedule> {
    let logs = options.serves_logs.then(|| LogServer::of_tasks(&runtime.settings));
    let services = Services { logs, notifications: true };
    run_job(runtime, JobType::Scheduler, services, async |job| {
        Box::pin(schedule(runtime, job, options.loops, shutdown)).await
    })
    .await
}

async fn schedule(
    runtime: &Runtime,
    job: &Job,
    loops: Loops,
    shutdown: &Shutdown,
) -> Result<(), CannotSchedule> {
    let supervision = Arc::new(supervision(runtime)?);
    let mut scheduler = scheduler(runtime, job, &supervision)?;
    tokio::select! {
        () = cycles(&mut scheduler, loops, shutdown) => {}
        reason = cannot_run_tasks(&supervision) => return Err(CannotSchedule::NoTasks(reason)),
    }
    if let Some(listeners) = scheduler.take_listeners() {
        listeners.tell(Happened::Stopping(job.id.get()));
        listeners.finish(runtime.settings.ferroflow.user_code_timeout).await;
    }
    Ok(())
}

async fn cycles(scheduler: &mut Scheduler, loops: Loops, shutdown: &Shutdown) {
    scheduler.run(&shutdown.stop, loops).await;
    if !scheduler.is_idle() {
        tracing::info!("waiting for running tasks; once more ends them");
    }
    scheduler.drain(&shutdown.hurry).await;
    scheduler.executors().shut_down().await;
}

/// Returns only if there is a reason: work that needs no Python is done before it is there.
async fn cannot_run_tasks(supervision: &Supervision) -> CannotSupervise {
    match supervision.ready().await {
        Ok(()) => std::future::pending().await,
        Err(reason) => reason,
    }
}

fn supervision(runtime: &Runtime) -> Result<Supervision, CannotSchedule> {
    let Runtime { settings, python, host, .. } = runtime;
    let (api, logs) = (runtime.execution_api()?, TaskLogs::of(settings));
    Ok(Supervision::new(api, python.clone(), Arc::clone(settings), host.clone(), logs))
}

fn scheduler(
    runtime: &Runtime,
    job: &Job,
    supervision: &Arc<Supervision>,
) -> Result<Scheduler, CannotSchedule> {
    let (settings, job_id) = (&runtime.settings, job.id.get());
    let extensions = runtime.extensions();
    let db = runtime.db.with_lock_patience(LOCK_PATIENCE);
    let width = if db.dialect() == Dialect::Sqlite { 1 } else { RUNS_AT_A_TIME };
    let cx = Context {
        settings: Arc::clone(settings),
        job_id,
        run_settings: RunSettings::of(runtime, job_id, Pace::Scheduled, extensions.rules),
        service: Service { db: db.clone(), ..runtime.service.clone() },
        timetables: Some(extensions.timetables),
        definitions: Definitions::new(signed(settings.core.min_serialized_dag_update_interval)),
        orphan_retries: OrphanRetries::default(),
        row_retries: RowRetries::default(),
        progress: job.status.progress(),
        db,
    };
    let paths = LogPaths::new(&settings.logging.log_filename_template)?;
    let parts = Parts { cx: Arc::new(cx), paths, executors: executors(runtime, supervision)?, width };
    let listeners = runtime.listeners();
    listeners.tell(Happened::Starting(job_id));
    tracing::info!(job_id, "scheduling");
    let scheduler = Scheduler::new(parts, clock::now());
    Ok(scheduler.with_listeners(listeners).with_loop_status(Arc::clone(&job.status)))
}

fn executors(runtime: &Runtime, supervision: &Arc<Supervision>) -> Result<Executors, CannotSchedule> {
    let settings = &runtime.settings;
    let at_a_time = settings.core.parallelism.saturating_add(settings.dag_processor.parsing_processes);
    if let Some(warning) = descriptors::shortage(at_a_time.into()) {
        tracing::warn!("{warning}");
    }
    let names = executor_names(&settings.core.executor, settings.core.multi_team)?;
    let resources = Resources { settings: Arc::clone(settings), supervision: Arc::clone(supervision) };
    let (channel, events) = executor_events();
    Ok(Executors::new(construct(names, &resources, &channel)?, events))
}

impl RunSettings {
    /// As the configuration says, for the component that has this row in `job`.
    pub fn of(runtime: &Runtime, job_id: i64, pace: Pace, rules: Arc<InstanceRules>) -> Self {
        let wait = runtime.settings.core.max_task_retry_delay;
        Self {
            job_id: Some(job_id),
            unixname: runtime.host.user.clone(),
            fernet: Arc::clone(&runtime.fernet),
            longest_wait: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            pace,
            rules: Some(rules),
            questions: Questions::default(),
        }
    }
}
