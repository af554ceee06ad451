//! Runs and tasks in the foreground, without a scheduler: what `dags test` and `tasks test` have in common.

mod log_lines;
mod summary;
mod terminal;
mod to_store;
mod when;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use ferroflow_dagproc::{Context, run_callbacks_of_run};
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::InProcessApi;
use ferroflow_executor::{
    EventSender, ExecutorEvents, LocalExecutor, Supervision, TaskLogs, executor_events,
};
use ferroflow_model::state::JobState;
use ferroflow_model::timetable::DataInterval;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_scheduler::run::{ActiveRun, Definition, Pace, RunSettings};
use ferroflow_scheduler::{LogPaths, Questions, manual_run};
use ferroflow_telemetry::{chain, clock};
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::commands::dags::stored;
use crate::session::{self, Session, block_on_threads, stop_and_hurry_on_signals};

pub(crate) use summary::summary;
pub(crate) use terminal::{Terminal, callback_sink, tell, tell_waiting};
pub(crate) use to_store::{Wanted, store};
pub(crate) use when::{NOT_A_DATE, logical_date, read_date};

/// What is known to the table `job` as; nobody takes it for a scheduler or a processor.
const JOB_TYPE: &str = "DagTestJob";

/// How long the database may take to note the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// All that it takes to run tasks here.
pub(crate) struct Stage {
    pub(crate) db: Db,
    pub(crate) cx: Arc<Context>,
    pub(crate) run_settings: RunSettings,
    pub(crate) paths: LogPaths,
    pub(crate) stop: CancellationToken,
    hurry: CancellationToken,
    job_id: i64,
    heart: (CancellationToken, JoinHandle<()>),
}

/// Does something with a stage. Ctrl-C is told to it by `stage.stop`; until the work begins, it ends the command.
pub(crate) fn on_stage<T>(
    session: &Session,
    variables: Vec<(OsString, OsString)>,
    work: impl AsyncFnOnce(&Stage) -> Result<T>,
) -> Result<T> {
    block_on_threads(async {
        let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
        stop_and_hurry_on_signals(&stop, &hurry, || {})?;
        let stage = tokio::select! {
            stage = Stage::open(session, variables, (stop.clone(), hurry)) => stage?,
            () = stop.cancelled() => return Err(anyhow!("interrupted")),
        };
        let outcome = Box::pin(work(&stage)).await;
        let closed = stage.close(outcome.is_ok()).await;
        let done = outcome?;
        closed.map(|()| done)
    })
}

impl Stage {
    async fn open(
        session: &Session,
        variables: Vec<(OsString, OsString)>,
        (stop, hurry): (CancellationToken, CancellationToken),
    ) -> Result<Self> {
        let db = stored::connect(session).await?;
        let cx = Context::start_with(session.parts(&db, session.host_of_rows()?)?, variables).await;
        let cx = Arc::new(cx.context("DAG files cannot be parsed")?);
        let job = &NewJob {
            job_type: JOB_TYPE.to_owned(),
            hostname: cx.host().name.clone(),
            unixname: cx.host().user.clone(),
            executor_class: None,
        };
        let now = clock::now();
        let job_id = db.transact(|tx| async move { job::insert(tx, job, now).await }.scope_boxed()).await?;
        let wait = session.settings.core.max_task_retry_delay;
        let rules = InstanceRules::new(cx.python().clone(), session.settings.ferroflow.user_code_timeout);
        let run_settings = RunSettings {
            job_id: Some(job_id),
            unixname: cx.host().user.clone(),
            fernet: Arc::clone(&session.fernet),
            longest_wait: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            pace: Pace::AtOnce,
            rules: Some(Arc::new(rules)),
            questions: Questions::default(),
        };
        let paths = LogPaths::new(&session.settings.logging.log_filename_template)?;
        let ended = CancellationToken::new();
        let pause = session.settings.scheduler.scheduler_heartbeat_sec;
        let heart = (ended.clone(), tokio::spawn(beat(db.clone(), job_id, pause, ended)));
        Ok(Self { db, cx, run_settings, paths, stop, hurry, job_id, heart })
    }

    /// What runs tasks, with their logs on the terminal as well, and what it tells.
    pub(crate) fn executor(&self, session: &Session) -> Result<(LocalExecutor, ExecutorEvents)> {
        let mut logs = TaskLogs::of(&session.settings);
        logs.echo = Some(Arc::new(Terminal));
        let (service, python, host) = (self.cx.service().clone(), self.cx.python(), self.cx.host());
        let api = InProcessApi::for_supervisors(service, python, &session.settings, host)?;
        let settings = Arc::clone(&session.settings);
        let supervision = Supervision::new(Arc::new(api), python.clone(), settings, host.clone(), logs);
        let slots = usize::try_from(session.settings.core.parallelism).unwrap_or(usize::MAX);
        let (channel, events) = executor_events();
        let events_of = EventSender::new(Arc::new(LocalExecutor::name()), channel);
        Ok((LocalExecutor::new(Arc::new(supervision), slots, events_of), events))
    }

    /// The newest version of a DAG.
    pub(crate) async fn definition(&self, dag_id: &str) -> Result<Definition> {
        let read = self.db.read(|tx| {
            async move { ferroflow_scheduler::Error::split(Definition::latest(tx, dag_id).await) }
                .scope_boxed()
        });
        Ok(read.await??)
    }

    /// What a run of this date processes.
    pub(crate) async fn data_interval(&self, definition: &Definition, at: Timestamp) -> Result<DataInterval> {
        Ok(manual_run::data_interval(self.cx.timetables(), definition, at).await?)
    }

    pub(crate) async fn load(&self, dag_id: &str, run_id: &str) -> Result<ActiveRun> {
        Ok(ActiveRun::load(&self.db, &self.run_settings, dag_id, run_id, clock::now()).await?)
    }

    /// Runs what the run and its tasks have left for a DAG processor, until Ctrl-C; if that has stopped the run, until the
    /// next one.
    pub(crate) async fn run_callbacks(&self, run: &ActiveRun) -> Result<()> {
        let bundle = &run.definition.bundle_name;
        let (key, sink) = ((run.row.dag_id.as_str(), run.row.run_id.as_str()), callback_sink());
        let interrupted = if self.stop.is_cancelled() { &self.hurry } else { &self.stop };
        tokio::select! {
            number = run_callbacks_of_run(&self.cx, key, bundle, self.job_id, &sink) => {
                number.context("the callbacks of the run")?;
                Ok(())
            }
            () = interrupted.cancelled() => Err(anyhow!("interrupted: callbacks of the run are left to a DAG processor")),
        }
    }

    async fn close(self, is_good: bool) -> Result<()> {
        let state = if is_good { JobState::Success } else { JobState::Failed };
        self.cx.close().await;
        let (ended, heart) = self.heart;
        ended.cancel();
        let (db, job_id, now) = (&self.db, self.job_id, clock::now());
        let finish = async {
            // A heartbeat after the end would bring the job back to life.
            heart.await?;
            db.transact(|tx| async move { job::finish(tx, job_id, state, now).await }.scope_boxed()).await?;
            anyhow::Ok(())
        };
        // Without a heartbeat, the row tells the same.
        let finished = tokio::time::timeout(LAST_WORDS, finish).await;
        session::close(db).await;
        finished.unwrap_or(Ok(()))
    }
}

/// Shows that this lives, as long as it does: schedulers take the tasks of one that does not for orphans.
async fn beat(db: Db, job_id: i64, pause: Duration, ended: CancellationToken) {
    loop {
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        let now = clock::now();
        let beaten =
            db.transact(|tx| async move { job::heartbeat(tx, job_id, now).await.map(drop) }.scope_boxed());
        if let Err(error) = beaten.await {
            tracing::warn!(job_id, "the heartbeat is not written: {}", chain(&error));
        }
    }
}
