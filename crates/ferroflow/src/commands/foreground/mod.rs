//! Runs and tasks in the foreground, without a scheduler: what `dags test` and `tasks test` have in common.

mod log_lines;
mod summary;
mod terminal;
mod to_store;
mod when;

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use ferroflow_component::{Job, JobType, Runtime, Services, Session, Shutdown, run_job};
use ferroflow_dagproc::{Context, run_callbacks_of_run};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::Service;
use ferroflow_executor::{
    EventSender, ExecutorEvents, LocalExecutor, Supervision, TaskLogs, executor_events,
};
use ferroflow_model::timetable::DataInterval;
use ferroflow_scheduler::run::{ActiveRun, Definition, Pace, RunSettings};
use ferroflow_scheduler::{LogPaths, manual_run};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::session::block_on_threads;

pub(crate) use summary::summary;
pub(crate) use terminal::{Terminal, callback_sink, tell, tell_waiting};
pub(crate) use to_store::{Wanted, store};
pub(crate) use when::{NOT_A_DATE, logical_date, read_date};

/// All that it takes to run tasks here.
pub(crate) struct Stage<'r> {
    runtime: &'r Runtime,
    pub(crate) db: &'r Db,
    pub(crate) cx: Arc<Context>,
    pub(crate) run_settings: RunSettings,
    pub(crate) paths: LogPaths,
    pub(crate) stop: &'r CancellationToken,
    hurry: &'r CancellationToken,
    job_id: i64,
}

/// Does something with a stage. Ctrl-C cancels `stage.stop`; until the work begins, it ends the command.
pub(crate) fn on_stage<T>(
    session: &Session,
    variables: Vec<(OsString, OsString)>,
    work: impl AsyncFnOnce(&Stage<'_>) -> Result<T>,
) -> Result<T> {
    block_on_threads(async {
        let shutdown = Shutdown::on_signals(|| {})?;
        let opened = tokio::select! {
            opened = Box::pin(open(session, variables)) => opened,
            () = shutdown.stop.cancelled() => return Err(anyhow!("interrupted")),
        };
        let (runtime, cx) = opened?;
        let outcome = run_job(&runtime, JobType::DagTest, Services::default(), async |job| {
            let stage = Stage::new(&runtime, cx, job, &shutdown)?;
            Box::pin(work(&stage)).await
        });
        let outcome = outcome.await;
        runtime.close().await;
        outcome
    })
}

async fn open(session: &Session, variables: Vec<(OsString, OsString)>) -> Result<(Runtime, Arc<Context>)> {
    let runtime = Runtime::connect(session, variables).await?;
    let cx = Context::start(&runtime).await.context("DAG files cannot be parsed")?;
    Ok((runtime, Arc::new(cx)))
}

impl<'r> Stage<'r> {
    fn new(runtime: &'r Runtime, cx: Arc<Context>, job: &Job, shutdown: &'r Shutdown) -> Result<Self> {
        let (job_id, rules) = (job.id.get(), Arc::clone(&cx.extensions().rules));
        Ok(Self {
            runtime,
            db: &runtime.db,
            cx,
            run_settings: RunSettings::of(runtime, job_id, Pace::AtOnce, rules),
            paths: LogPaths::new(&runtime.settings.logging.log_filename_template)?,
            stop: &shutdown.stop,
            hurry: &shutdown.hurry,
            job_id,
        })
    }

    pub(crate) fn service(&self) -> &Service {
        &self.runtime.service
    }

    /// What runs tasks, with their logs on the terminal as well, and what it tells.
    pub(crate) fn executor(&self) -> Result<(LocalExecutor, ExecutorEvents)> {
        let Runtime { settings, python, host, .. } = self.runtime;
        let mut logs = TaskLogs::of(settings);
        logs.echo = Some(Arc::new(Terminal));
        let api = self.runtime.execution_api()?;
        let supervision = Supervision::new(api, python.clone(), Arc::clone(settings), host.clone(), logs);
        let slots = usize::try_from(settings.core.parallelism).unwrap_or(usize::MAX);
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
        Ok(manual_run::data_interval(&self.cx.extensions().timetables, definition, at).await?)
    }

    pub(crate) async fn load(&self, dag_id: &str, run_id: &str) -> Result<ActiveRun> {
        Ok(ActiveRun::load(self.db, &self.run_settings, dag_id, run_id, clock::now()).await?)
    }

    /// Runs what the run and its tasks have left for a DAG processor, until Ctrl-C; if that has stopped the run, until the
    /// next one.
    pub(crate) async fn run_callbacks(&self, run: &ActiveRun) -> Result<()> {
        let bundle = &run.definition.bundle_name;
        let (key, sink) = ((run.row.dag_id.as_str(), run.row.run_id.as_str()), callback_sink());
        let interrupted = if self.stop.is_cancelled() { self.hurry } else { self.stop };
        tokio::select! {
            number = run_callbacks_of_run(&self.cx, key, bundle, self.job_id, &sink) => {
                number.context("the callbacks of the run")?;
                Ok(())
            }
            () = interrupted.cancelled() => Err(anyhow!("interrupted: callbacks of the run are left to a DAG processor")),
        }
    }
}
