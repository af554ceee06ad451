//! The scheduler as a component: what its loop is made of, and how it ends.

use std::sync::Arc;

use ferroflow_component::serve_logs::LogServer;
use ferroflow_component::{Job, JobType, Runtime, Services, Shutdown, run_job};
use ferroflow_db::Dialect;
use ferroflow_execution::Service;
use ferroflow_executor::{CannotSupervise, LocalExecutor, Supervision, TaskLogs};
use ferroflow_python::descriptors;
use ferroflow_python::listeners::Happened;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_telemetry::clock::{self, signed};

use crate::chores::{KeptBack, LocalOnly, Unsettled};
use crate::executors::{BadExecutors, Executors, NamedExecutor, executor_names};
use crate::run::{ExecutorNames, Pace, RunSettings};
use crate::scheduler::{Loops, Parts, Scheduler};
use crate::{Context, Definitions, LOCK_PATIENCE, LogPaths, Questions, TemplateError};

/// The only executor that there is here.
pub const LOCAL_EXECUTOR: &str = "airflow.executors.local_executor.LocalExecutor";

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
    #[error("[core] executor: {0} is not available here; LocalExecutor is")]
    NoSuchExecutor(String),
    #[error(transparent)]
    LogPaths(#[from] TemplateError),
    #[error(transparent)]
    Supervision(CannotSupervise),
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

async fn cycles(scheduler: &mut Scheduler<LocalExecutor, LocalOnly>, loops: Loops, shutdown: &Shutdown) {
    scheduler.run(&shutdown.stop, loops).await;
    if !scheduler.is_idle() {
        tracing::info!("waiting for running tasks; once more ends them");
    }
    scheduler.drain(&shutdown.hurry).await;
    for executor in scheduler.executors().each() {
        executor.shut_down().await;
    }
}

/// Returns only if there is a reason: work that needs no Python is done before it is there.
async fn cannot_run_tasks(supervision: &Supervision) -> CannotSupervise {
    match supervision.ready().await {
        Ok(()) => std::future::pending().await,
        Err(reason) => reason,
    }
}

fn supervision(runtime: &Runtime) -> Result<Supervision, CannotSchedule> {
    let settings = &runtime.settings;
    Supervision::new(
        runtime.service.clone(),
        runtime.python.clone(),
        Arc::clone(settings),
        runtime.host.clone(),
        TaskLogs::of(settings),
    )
    .map_err(CannotSchedule::Supervision)
}

fn scheduler(
    runtime: &Runtime,
    job: &Job,
    supervision: &Arc<Supervision>,
) -> Result<Scheduler<LocalExecutor, LocalOnly>, CannotSchedule> {
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
        unsettled: Unsettled::default(),
        kept_back: KeptBack::default(),
        progress: job.status.progress(),
        db,
    };
    let paths = LogPaths::new(&settings.logging.log_filename_template)?;
    let (executors, adopters) = executors(runtime, supervision)?;
    let parts = Parts { cx: Arc::new(cx), paths, executors, adopters, width };
    let listeners = runtime.listeners();
    listeners.tell(Happened::Starting(job_id));
    tracing::info!(job_id, "scheduling");
    let scheduler = Scheduler::new(parts, clock::now());
    Ok(scheduler.with_listeners(listeners).with_loop_status(Arc::clone(&job.status)))
}

fn executors(
    runtime: &Runtime,
    supervision: &Arc<Supervision>,
) -> Result<(Executors<LocalExecutor>, LocalOnly), CannotSchedule> {
    let settings = &runtime.settings;
    let slots = usize::try_from(settings.core.parallelism).unwrap_or(usize::MAX);
    let at_a_time = settings.core.parallelism.saturating_add(settings.dag_processor.parsing_processes);
    if let Some(warning) = descriptors::shortage(at_a_time.into()) {
        tracing::warn!("{warning}");
    }
    let (mut list, mut besides) = (Vec::new(), Vec::new());
    for name in executor_names(&settings.core.executor, settings.core.multi_team)? {
        if name.module_path != LOCAL_EXECUTOR {
            return Err(CannotSchedule::NoSuchExecutor(name.module_path));
        }
        let names = name.alias.clone().into_iter();
        let names = names.chain([LOCAL_EXECUTOR.to_owned(), "LocalExecutor".to_owned()]);
        let executor = LocalExecutor::new(Arc::clone(supervision), slots);
        besides.push((names.collect(), executor.errands()));
        list.push(NamedExecutor { name, slots, names: ExecutorNames::None, executor });
    }
    Ok((Executors::new(list), LocalOnly { supervision: Arc::clone(supervision), executors: besides }))
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
