//! `ferroflow-bench fleet`: a scheduler on the database of the configuration, with an executor that runs nothing.
//!
//! All else is as in `ferroflow scheduler`: what is measured by `airflow_fleet.py` is the scheduler and the database.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use ferroflow_component::{JobType, job_row};
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Options, notifications};
use ferroflow_execution::{Host, Rules, Service};
use ferroflow_executor::{
    Executor, ExecutorSet, LocalExecutor, NamedExecutor, Slots, Workload, executor_events,
};
use ferroflow_model::state::JobState;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_python::timetables::Timetables;
use ferroflow_python::{ForkServer, ForkServerOptions};
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::run::{Pace, RunSettings};
use ferroflow_scheduler::scheduler::{Loops, Parts, Scheduler};
use ferroflow_scheduler::{Context, Definitions, LOCK_PATIENCE, LogPaths, Progress, Questions};
use ferroflow_telemetry::{LogForm, clock, start_logging};
use jiff::SignedDuration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// As many runs are examined at a time as `ferroflow scheduler` examines.
const RUNS_AT_A_TIME: usize = 4;

/// Takes what it is given, and does nothing with it.
struct RunsNothing {
    slots: usize,
    taken: Mutex<HashSet<Uuid>>,
}

impl RunsNothing {
    fn taken(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Executor for RunsNothing {
    fn slots(&self) -> Slots {
        Slots { all: self.slots, tasks: self.taken().len(), others: 0 }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        self.taken().extend(workloads.iter().map(|workload| workload.key().id()));
    }

    fn terminate(&self, id: Uuid) {
        self.taken().remove(&id);
    }

    fn can_revoke(&self) -> bool {
        true
    }
}

/// Schedules until it is told to end.
pub(crate) fn run() -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(schedule())
}

async fn schedule() -> Result<()> {
    let environment = Environment::from_process();
    let settings = Arc::new(Settings::load(&Configuration::load(&environment)?)?);
    start_logging(&settings.logging.logging_level, LogForm { is_json: false, file: None })?;
    let db = Db::connect(&database_options(&settings)).await?;
    let host = Host::of(&environment);
    let job_id = job_row::start(&db, JobType::Scheduler, &host, clock::now()).await?;
    let python = settings.ferroflow.python.as_deref().context("[ferroflow] python names no interpreter")?;
    let mut options = ForkServerOptions::new(python);
    // How soon Python is there is not what is measured.
    options.boot_timeout = Duration::from_mins(10);
    let python = ForkServer::start(options).await?;
    let patient = db.with_lock_patience(LOCK_PATIENCE);
    let cx = context(&patient, &settings, environment, host.user, job_id, &python)?;
    let parts = Parts {
        cx: Arc::new(cx),
        paths: LogPaths::new(&settings.logging.log_filename_template)?,
        executors: executors(&settings),
        width: RUNS_AT_A_TIME,
    };
    let (stop, interval) = (CancellationToken::new(), settings.scheduler.scheduler_heartbeat_sec);
    let besides =
        [tokio::spawn(notifications::listen(db.clone())), tokio::spawn(beat(db.clone(), job_id, interval))];
    let (mut ends, told) = (signal(SignalKind::terminate())?, stop.clone());
    tokio::spawn(async move {
        ends.recv().await;
        told.cancel();
    });
    Scheduler::new(parts, clock::now()).run(&stop, Loops::new(None, false)).await;
    besides.iter().for_each(tokio::task::JoinHandle::abort);
    job_row::end(&db, JobType::Scheduler, job_id, JobState::Success, clock::now()).await?;
    python.stop().await;
    Ok(())
}

async fn beat(db: Db, job_id: i64, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        if let Err(error) = job_row::beat(&db, JobType::Scheduler, job_id, clock::now()).await {
            tracing::warn!(%error, "the scheduler's heartbeat is missing");
        }
    }
}

fn database_options(settings: &Settings) -> Options {
    let database = &settings.database;
    Options {
        url: database.sql_alchemy_conn.expose().to_owned(),
        schema: database.sql_alchemy_schema.clone(),
        pool_enabled: database.sql_alchemy_pool_enabled,
        pool_size: database.sql_alchemy_pool_size,
        max_overflow: database.sql_alchemy_max_overflow,
        recycle: database.pool_recycle(),
        pre_ping: database.sql_alchemy_pool_pre_ping,
        max_attempts: database.max_db_retries,
        statement_cache: settings.ferroflow.database_statement_cache,
        row_locks: settings.scheduler.use_row_level_locking,
    }
}

fn context(
    db: &Db,
    settings: &Arc<Settings>,
    environment: Environment,
    unixname: String,
    job_id: i64,
    python: &ForkServer,
) -> Result<Context> {
    let fernet = Arc::new(Fernet::new("")?);
    let timetables = Arc::new(Timetables::new(python.clone(), settings.ferroflow.timetable_timeout));
    let rules = InstanceRules::new(python.clone(), settings.ferroflow.user_code_timeout);
    let trusted = SignedDuration::try_from(settings.core.min_serialized_dag_update_interval)?;
    Ok(Context {
        db: db.clone(),
        settings: Arc::clone(settings),
        job_id,
        run_settings: RunSettings {
            job_id: Some(job_id),
            unixname,
            fernet: Arc::clone(&fernet),
            longest_wait: i64::try_from(settings.core.max_task_retry_delay.as_secs()).unwrap_or(i64::MAX),
            pace: Pace::Scheduled,
            rules: Some(Arc::new(rules)),
            questions: Questions::default(),
        },
        service: Service {
            db: db.clone(),
            fernet,
            environment: Arc::new(environment),
            backend: None,
            timetables: Some(Arc::clone(&timetables)),
            rules: Rules::of(settings),
        },
        timetables: Some(timetables),
        definitions: Definitions::new(trusted),
        orphan_retries: OrphanRetries::default(),
        row_retries: RowRetries::default(),
        progress: Progress::default(),
    })
}

fn executors(settings: &Settings) -> Executors {
    let slots = usize::try_from(settings.core.parallelism).unwrap_or(usize::MAX);
    let executor = Arc::new(RunsNothing { slots, taken: Mutex::default() });
    let named = NamedExecutor { name: Arc::new(LocalExecutor::name()), executor };
    let (_, events) = executor_events();
    Executors::new(ExecutorSet::new([named]), events)
}
