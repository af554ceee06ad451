//! `ferroflow scheduler`

mod health;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use ferroflow_config::Environment;
use ferroflow_dagproc::Context as Bridge;
use ferroflow_db::{Db, news, schema};
use ferroflow_executor::{LocalExecutor, Supervision, TaskLogs};
use ferroflow_model::state::JobState;
use ferroflow_python::timetables::Timetables;
use ferroflow_scheduler::chores::LocalOnly;
use ferroflow_scheduler::executors::{Executors, NamedExecutor, executor_names};
use ferroflow_scheduler::run::{Driver, ExecutorNames, Pace};
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_scheduler::{Context, Definitions, LogPaths, job};
use ferroflow_telemetry::{chain, clock};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::session::{Session, block_on_threads, stop_and_hurry_on_signals};

/// The only executor that there is here.
const LOCAL: &str = "airflow.executors.local_executor.LocalExecutor";

/// How many runs are examined at a time, where the database takes more than one writer.
const RUNS_AT_A_TIME: usize = 4;

/// How it schedules.
#[derive(Args)]
pub(crate) struct SchedulerCommand {
    /// Log everything
    #[arg(short, long)]
    verbose: bool,
    /// Accepted for compatibility: logs are not served from here
    #[arg(short, long)]
    skip_serve_logs: bool,
}

pub(crate) fn run(command: &SchedulerCommand, environment: &Environment) -> Result<()> {
    let session = Session::start_with(environment, command.verbose)?;
    block_on_threads(serve(&session))
}

async fn serve(session: &Session) -> Result<()> {
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    stop_and_hurry_on_signals(&stop, &hurry)?;
    session.send_metrics()?;
    let started = tokio::select! {
        started = start(session) => started,
        () = stop.cancelled() => return Ok(()),
    };
    let (db, bridge) = started?;
    let health = health::listen(session, &db, bridge.host()).await?;
    let job_id = job::start(&db, bridge.host(), clock::now()).await?;
    let listening = tokio::spawn(news::listen(db.clone()));
    let beating = tokio::spawn(beat(db.clone(), job_id, session.settings.scheduler.scheduler_heartbeat_sec));
    let outcome = schedule(session, &db, &bridge, job_id, (&stop, &hurry)).await;
    listening.abort();
    beating.abort();
    health.abort();
    let state = if outcome.is_ok() { JobState::Success } else { JobState::Failed };
    job::end(&db, job_id, state, clock::now()).await?;
    db.close().await;
    outcome
}

async fn start(session: &Session) -> Result<(Db, Bridge)> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    let bridge = Bridge::start(session.parts(&db)?).await.context("the scheduler could not be started")?;
    Ok((db, bridge))
}

async fn schedule(
    session: &Session,
    db: &Db,
    bridge: &Bridge,
    job_id: i64,
    (stop, hurry): (&CancellationToken, &CancellationToken),
) -> Result<()> {
    let settings = &session.settings;
    let wait = settings.core.max_task_retry_delay;
    let trusted = SignedDuration::try_from(settings.core.min_serialized_dag_update_interval)?;
    let timetables = Timetables::new(bridge.python().clone(), settings.ferroflow.timetable_timeout);
    let cx = Context {
        db: db.clone(),
        settings: Arc::clone(settings),
        job_id,
        driver: Driver {
            job_id: Some(job_id),
            unixname: bridge.host().user.clone(),
            fernet: Arc::clone(&session.fernet),
            longest_wait: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            pace: Pace::Scheduled,
        },
        service: bridge.service().clone(),
        timetables: Some(Arc::new(timetables)),
        definitions: Definitions::new(trusted),
    };
    let paths = LogPaths::new(&settings.logging.log_filename_template)?;
    let width = if db.dialect() == ferroflow_db::Dialect::Sqlite { 1 } else { RUNS_AT_A_TIME };
    let (executors, adopters) = executors(session, bridge)?;
    let parts = Parts { cx: Arc::new(cx), paths, executors, adopters, width };
    let mut scheduler = Scheduler::new(parts, clock::now());
    tracing::info!(job_id, "scheduling");
    scheduler.run(stop).await;
    if !scheduler.executors().is_idle() {
        tracing::info!("waiting for running tasks; once more ends them");
    }
    scheduler.drain(hurry).await;
    for executor in scheduler.executors().each() {
        executor.shut_down().await;
    }
    Ok(())
}

fn executors(session: &Session, bridge: &Bridge) -> Result<(Executors<LocalExecutor>, LocalOnly)> {
    let settings = &session.settings;
    let slots = usize::try_from(settings.core.parallelism).unwrap_or(usize::MAX);
    let supervision = Arc::new(Supervision::new(
        bridge.service().clone(),
        bridge.python().clone(),
        Arc::clone(settings),
        bridge.host().clone(),
        TaskLogs::of(settings),
    )?);
    let (mut list, mut names) = (Vec::new(), Vec::new());
    for name in executor_names(&settings.core.executor, settings.core.multi_team)? {
        if name.module_path != LOCAL {
            bail!("[core] executor: {} is not available here; LocalExecutor is", name.module_path);
        }
        names.extend(name.alias.clone().into_iter().chain([LOCAL.to_owned(), "LocalExecutor".to_owned()]));
        let executor = LocalExecutor::new(Arc::clone(&supervision), slots);
        list.push(NamedExecutor { name, slots, names: ExecutorNames::None, executor });
    }
    Ok((Executors::new(list), LocalOnly { supervision, names, slots }))
}

/// Shows that the scheduler lives, whatever its loop is busy with.
async fn beat(db: Db, job_id: i64, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        if let Err(error) = job::beat(&db, job_id, clock::now()).await {
            tracing::warn!("the scheduler's heartbeat is missing: {}", chain(&error));
        }
    }
}
