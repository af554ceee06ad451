//! `ferroflow scheduler`

mod health;

use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use ferroflow_config::{Environment, Settings};
use ferroflow_dagproc::Context as Bridge;
use ferroflow_db::{Db, notifications, schema};
use ferroflow_execution::{InProcessApi, Service};
use ferroflow_executor::{
    CannotSupervise, Resources, Supervision, TaskLogs, construct, executor_events, executor_names,
};
use ferroflow_model::state::JobState;
use ferroflow_python::descriptors;
use ferroflow_python::listeners::{Happened, SchedulerListeners};
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_python::timetables::Timetables;
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::loop_status::LoopStatus;
use ferroflow_scheduler::run::{Pace, RunSettings};
use ferroflow_scheduler::scheduler::{Loops, Parts, Scheduler};
use ferroflow_scheduler::{Context, Definitions, LOCK_PATIENCE, LogPaths, Progress, Questions, job};
use ferroflow_telemetry::clock::signed;
use ferroflow_telemetry::metrics::Shown;
use ferroflow_telemetry::{chain, clock};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::daemon::DaemonOptions;
use crate::serve_logs;
use crate::session::{self, Session, block_on_threads, stop_and_hurry_on_signals};

/// How many runs are examined at a time, where the database takes more than one writer.
const RUNS_AT_A_TIME: usize = 4;

/// How it schedules.
#[derive(Args)]
pub(crate) struct SchedulerCommand {
    /// Log everything
    #[arg(short, long)]
    verbose: bool,
    /// Do not serve the logs of tasks
    #[arg(short, long)]
    skip_serve_logs: bool,
    /// Stop after so many loops; -1 for never. What the configuration says if not given
    #[arg(short = 'n', long, value_name = "NUMBER", allow_negative_numbers = true)]
    num_runs: Option<i64>,
    /// Of --num-runs, count only loops one after the other in which nothing was to be done
    #[arg(short = 'i', long)]
    only_idle: bool,
    #[command(flatten)]
    daemon: DaemonOptions,
}

impl SchedulerCommand {
    fn loops(&self, session: &Session) -> Result<Loops> {
        let settings = &session.settings.scheduler;
        let most = match self.num_runs {
            Some(number) => u32::try_from(number).ok().filter(|number| *number > 0),
            None => settings.num_runs,
        };
        if self.only_idle && most.is_none() {
            bail!("--only-idle needs a positive --num-runs");
        }
        Ok(Loops::new(most, self.only_idle || settings.only_idle))
    }
}

pub(crate) fn run(command: &SchedulerCommand, environment: &Environment) -> Result<()> {
    let started = command.daemon.start_session("scheduler", environment, command.verbose)?;
    let Some((session, _daemon)) = started else { return Ok(()) };
    let loops = command.loops(&session)?;
    block_on_threads(serve(command, &session, loops))
}

async fn serve(command: &SchedulerCommand, session: &Session, loops: Loops) -> Result<()> {
    let metrics = session.send_metrics(session.settings.scheduler.enable_health_check)?;
    let work = Work { loops, serves_logs: !command.skip_serve_logs, ..Work::new(metrics.prometheus.clone()) };
    work.follow_signals()?;
    let started = tokio::select! {
        started = start(session) => started,
        () = work.stop.cancelled() => return Ok(()),
    };
    let (db, bridge) = started?;
    let outcome = work.run(session, &db, &bridge).await;
    session::close(&db).await;
    tokio::task::block_in_place(|| metrics.flush());
    outcome
}

/// A scheduler at work, with all that belongs to one.
#[derive(Clone)]
pub(crate) struct Work {
    /// It stops when this is cancelled, once running tasks have ended,
    pub(crate) stop: CancellationToken,
    /// or at once when this is, too.
    pub(crate) hurry: CancellationToken,
    loops: Loops,
    serves_logs: bool,
    /// What Prometheus may read.
    shown: Option<Shown>,
    /// Where it stands, once it does.
    loop_status: Arc<OnceLock<Arc<LoopStatus>>>,
}

impl Work {
    /// Without end, and with logs of tasks served.
    pub(crate) fn new(shown: Option<Shown>) -> Self {
        Self {
            stop: CancellationToken::new(),
            hurry: CancellationToken::new(),
            loops: Loops::new(None, false),
            serves_logs: true,
            shown,
            loop_status: Arc::default(),
        }
    }

    /// Has signals stop and hurry it, and tell where it stands.
    pub(crate) fn follow_signals(&self) -> Result<()> {
        let loop_status = Arc::clone(&self.loop_status);
        stop_and_hurry_on_signals(&self.stop, &self.hurry, move || {
            if let Some(loop_status) = loop_status.get() {
                loop_status.ask();
            } else {
                tracing::info!("state: the scheduler is starting");
            }
        })
    }

    /// Schedules until it is stopped.
    pub(crate) async fn run(self, session: &Session, db: &Db, bridge: &Bridge) -> Result<()> {
        let own_id = Arc::new(OnceLock::new());
        let health =
            health::listen(session, db, bridge.host(), Arc::clone(&own_id), self.shown.clone()).await?;
        let logs =
            if self.serves_logs { serve_logs::listen(&session.settings) } else { tokio::spawn(async {}) };
        let job_id = job::start(db, bridge.host(), clock::now()).await?;
        _ = own_id.set(job_id);
        let listening = tokio::spawn(notifications::listen(db.clone()));
        let beating = tokio::spawn(beat(
            db.clone(),
            job_id,
            Arc::clone(&session.settings),
            Arc::clone(&self.loop_status),
        ));
        let outcome = self.schedule(session, db, bridge, job_id).await;
        for task in [listening, beating, health, logs] {
            task.abort();
        }
        let state = if outcome.is_ok() { JobState::Success } else { JobState::Failed };
        job::end(db, job_id, state, clock::now()).await?;
        outcome
    }

    async fn schedule(self, session: &Session, db: &Db, bridge: &Bridge, job_id: i64) -> Result<()> {
        let supervision = Arc::new(supervision(session, bridge)?);
        let mut scheduler = scheduler(session, db, bridge, &supervision, job_id)?;
        drop(self.loop_status.set(scheduler.loop_status()));
        tokio::select! {
            () = schedule(&mut scheduler, self.loops, (&self.stop, &self.hurry)) => {}
            reason = cannot_run_tasks(&supervision) => {
                return Err(reason).context("tasks cannot be run");
            }
        }
        if let Some(listeners) = scheduler.take_listeners() {
            listeners.tell(Happened::Stopping(job_id));
            listeners.finish(session.settings.ferroflow.user_code_timeout).await;
        }
        Ok(())
    }
}

async fn start(session: &Session) -> Result<(Db, Bridge)> {
    let db = session.connect().await?;
    schema::check(&db).await?;
    let bridge = Bridge::start(session.parts(&db, session.host_of_rows()?)?)
        .await
        .context("the scheduler could not be started")?;
    Ok((db, bridge))
}

fn scheduler(
    session: &Session,
    db: &Db,
    bridge: &Bridge,
    supervision: &Arc<Supervision>,
    job_id: i64,
) -> Result<Scheduler> {
    let settings = &session.settings;
    let wait = settings.core.max_task_retry_delay;
    let trusted = SignedDuration::try_from(settings.core.min_serialized_dag_update_interval)?;
    let timetables = Timetables::new(bridge.python().clone(), settings.ferroflow.timetable_timeout);
    let rules = InstanceRules::new(bridge.python().clone(), settings.ferroflow.user_code_timeout);
    let db = db.with_lock_patience(LOCK_PATIENCE);
    let cx = Context {
        db: db.clone(),
        settings: Arc::clone(settings),
        job_id,
        run_settings: RunSettings {
            job_id: Some(job_id),
            unixname: bridge.host().user.clone(),
            fernet: Arc::clone(&session.fernet),
            longest_wait: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            pace: Pace::Scheduled,
            rules: Some(Arc::new(rules)),
            questions: Questions::default(),
        },
        service: Service { db: db.clone(), ..bridge.service().clone() },
        timetables: Some(Arc::new(timetables)),
        definitions: Definitions::new(trusted),
        orphan_retries: OrphanRetries::default(),
        row_retries: RowRetries::default(),
        progress: Progress::default(),
    };
    let paths = LogPaths::new(&settings.logging.log_filename_template)?;
    let width = if db.dialect() == ferroflow_db::Dialect::Sqlite { 1 } else { RUNS_AT_A_TIME };
    let parts = Parts { cx: Arc::new(cx), paths, executors: executors(session, supervision)?, width };
    let listeners = SchedulerListeners::start(bridge.python().clone(), settings.ferroflow.user_code_timeout);
    listeners.tell(Happened::Starting(job_id));
    tracing::info!(job_id, "scheduling");
    Ok(Scheduler::new(parts, clock::now()).with_listeners(listeners))
}

async fn schedule(
    scheduler: &mut Scheduler,
    loops: Loops,
    (stop, hurry): (&CancellationToken, &CancellationToken),
) {
    scheduler.run(stop, loops).await;
    if !scheduler.is_idle() {
        tracing::info!("waiting for running tasks; once more ends them");
    }
    scheduler.drain(hurry).await;
    scheduler.executors().shut_down().await;
}

/// Returns only if there is a reason: work that needs no Python is done before it is there.
async fn cannot_run_tasks(supervision: &Supervision) -> CannotSupervise {
    match supervision.ready().await {
        Ok(()) => std::future::pending().await,
        Err(reason) => reason,
    }
}

fn supervision(session: &Session, bridge: &Bridge) -> Result<Supervision> {
    let settings = &session.settings;
    let (service, python, host) = (bridge.service().clone(), bridge.python(), bridge.host());
    let api = InProcessApi::for_supervisors(service, python, settings, host)?;
    let logs = TaskLogs::of(settings);
    Ok(Supervision::new(Arc::new(api), python.clone(), Arc::clone(settings), host.clone(), logs))
}

fn executors(session: &Session, supervision: &Arc<Supervision>) -> Result<Executors> {
    let settings = &session.settings;
    let at_a_time = settings.core.parallelism.saturating_add(settings.dag_processor.parsing_processes);
    if let Some(warning) = descriptors::shortage(at_a_time.into()) {
        tracing::warn!("{warning}");
    }
    let names = executor_names(&settings.core.executor, settings.core.multi_team)?;
    let resources = Resources { settings: Arc::clone(settings), supervision: Arc::clone(supervision) };
    let (channel, events) = executor_events();
    Ok(Executors::new(construct(names, &resources, &channel)?, events))
}

/// Shows that the scheduler lives, as far as its loop gets on: the heartbeat is as old as the beginning of what a cycle is
/// at, or, if one fails after the other, as the first of those. One that does not get on for `[scheduler]
/// scheduler_health_check_threshold` is of no use to anybody: its peers look after its tasks, and who watches it restarts
/// it.
async fn beat(db: Db, job_id: i64, settings: Arc<Settings>, loop_status: Arc<OnceLock<Arc<LoopStatus>>>) {
    let settings = &settings.scheduler;
    let (interval, threshold) =
        (settings.scheduler_heartbeat_sec, signed(settings.scheduler_health_check_threshold));
    let mut is_stuck = false;
    loop {
        tokio::time::sleep(interval).await;
        let now = clock::now();
        let until = loop_status.get().map_or(now, |loop_status| loop_status.gets_on_until(now));
        let was_stuck = std::mem::replace(&mut is_stuck, now.duration_since(until) >= threshold);
        if is_stuck {
            if !was_stuck {
                tracing::error!(
                    job_id,
                    since = %until,
                    "for [scheduler] scheduler_health_check_threshold the scheduler has been at one thing, or every \
                     cycle has failed: until it gets on, it shows no sign of life"
                );
            }
            continue;
        }
        match job::beat(&db, job_id, until).await {
            Ok(true) => {}
            Ok(false) => tracing::error!(
                job_id,
                "the scheduler's row in the table job is gone: others take its tasks for lost; start it anew"
            ),
            Err(error) => tracing::warn!("the scheduler's heartbeat is missing: {}", chain(&error)),
        }
    }
}
