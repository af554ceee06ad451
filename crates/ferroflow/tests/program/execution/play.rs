//! Runs are driven to their ends, several at a time, by what `ferroflow dags test` is made of.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_component::{JobType, Runtime, RuntimeParts, job_row};
use ferroflow_config::{Configuration, Settings};
use ferroflow_dagproc::once::Pass;
use ferroflow_dagproc::{Context, run_callbacks_of_run};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Options, ScopedFutureExt as _, dag_run};
use ferroflow_execution::Host;
use ferroflow_executor::{EventSender, Executor as _, LocalExecutor, Supervision, TaskLogs, executor_events};
use ferroflow_model::state::{RunState, TriggeredBy};
use ferroflow_python::{Sink, Stream};
use ferroflow_scheduler::foreground_run::{Drive, End, RunUpdate, Watcher};
use ferroflow_scheduler::manual_run::{self, ManualRun};
use ferroflow_scheduler::run::{ActiveRun, Definition, Pace, RunSettings};
use ferroflow_scheduler::{Error, LogPaths};
use ferroflow_telemetry::clock;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::execution::plan::PlannedRun;
use crate::execution::world::{World, python};

/// So many runs go on at the same time, besides those that tasks ask for.
const AT_ONCE: usize = 6;
/// So many tasks of a run.
const SLOTS: usize = 4;
/// No run takes so long, not even on a busy machine.
const PATIENCE: Duration = Duration::from_mins(10);

/// Plays all runs, wave by wave, and waits for all that comes of them. Returns what went wrong.
pub(crate) async fn play(world: &World, waves: Vec<Vec<PlannedRun>>) -> Vec<String> {
    let stage = Arc::new(Stage::open(world).await);
    let mut mishaps = Vec::new();
    for wave in waves {
        mishaps.extend(stage.play_wave(wave).await);
    }
    stage.runtime.close().await;
    mishaps
}

/// What it takes to run tasks.
struct Stage {
    runtime: Runtime,
    db: Db,
    cx: Arc<Context>,
    run_settings: RunSettings,
    supervision: Arc<Supervision>,
    paths: LogPaths,
    job_id: i64,
}

impl Stage {
    /// With all DAGs stored.
    async fn open(world: &World) -> Self {
        let environment = world.environment();
        let configuration = Configuration::load(&environment).unwrap();
        let settings = Arc::new(Settings::load(&configuration).unwrap());
        let fernet = Arc::new(Fernet::new(settings.core.fernet_key.as_ref().unwrap().expose()).unwrap());
        let db = Db::connect(&Options { pool_size: 10, ..world.database.options() }).await.unwrap();
        let parts = RuntimeParts {
            db: db.clone(),
            settings: Arc::clone(&settings),
            host: Host::of(&environment),
            environment,
            fernet,
            python: python(),
        };
        let variables = world.variables().iter().map(|(name, value)| (name.into(), value.into()));
        let runtime = Runtime::of(parts, variables.collect());
        let cx = Arc::new(Context::start(&runtime).await.unwrap());
        Pass::to_store(&cx, &[]).await.unwrap().store(|_| ()).await.unwrap();
        let (python, host, logs) = (&runtime.python, &runtime.host, TaskLogs::of(&settings));
        let api = runtime.execution_api().unwrap();
        let supervision = Supervision::new(api, python.clone(), Arc::clone(&settings), host.clone(), logs);
        let now = clock::now();
        let job_id = job_row::start(&db, JobType::DagTest, &runtime.host, now).await.unwrap();
        let rules = Arc::clone(&cx.extensions().rules);
        let run_settings = RunSettings::of(&runtime, job_id, Pace::Scheduled, rules);
        let paths = LogPaths::new(&settings.logging.log_filename_template).unwrap();
        Self { supervision: Arc::new(supervision), runtime, db, cx, run_settings, paths, job_id }
    }

    /// Plays the runs of a wave, and those that their tasks ask for.
    async fn play_wave(self: &Arc<Self>, wave: Vec<PlannedRun>) -> Vec<String> {
        let mut mishaps = Vec::new();
        let (turns, mut playing) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
        for run in wave {
            let (stage, turns) = (Arc::clone(self), Arc::clone(&turns));
            playing.spawn(async move {
                let turn = turns.acquire().await.unwrap();
                let made = stage.make(&run).await;
                if matches!(made, Ok(true)) {
                    stage.play(&run.dag_id, &run.run_id()).await?;
                }
                drop(turn);
                made.map(|_| ())
            });
        }
        loop {
            for (dag_id, run_id) in self.start_queued().await {
                let stage = Arc::clone(self);
                playing.spawn(async move { stage.play(&dag_id, &run_id).await });
            }
            match tokio::time::timeout(Duration::from_millis(300), playing.join_next()).await {
                Ok(Some(ended)) => mishaps.extend(ended.expect("nothing panics").err()),
                Ok(None) => return mishaps,
                Err(_) => {}
            }
        }
    }

    /// Makes a run; false if there should be none, and is none.
    async fn make(&self, planned: &PlannedRun) -> Result<bool, String> {
        let dag_id = planned.dag_id.as_str();
        let read = self
            .db
            .read(|tx| async move { Error::split(Definition::latest(tx, dag_id).await) }.scope_boxed());
        let definition = read.await.unwrap().unwrap();
        let interval =
            manual_run::data_interval(&self.cx.extensions().timetables, &definition, planned.logical_date)
                .await;
        let wanted = ManualRun {
            run_id: planned.run_id(),
            logical_date: Some(planned.logical_date),
            data_interval: Some(interval.unwrap()),
            run_after: planned.logical_date,
            conf: planned.conf.clone(),
            partition_key: planned.partition_key.clone(),
            triggered_by: TriggeredBy::Test,
            triggering_user_name: None,
            unixname: self.run_settings.unixname.clone(),
        };
        match manual_run::make(&self.db, &self.run_settings, &definition, wanted).await {
            Ok(_) if planned.is_refused => Err(format!("{dag_id}: Airflow makes no such run")),
            Ok(_) => Ok(true),
            Err(Error::BadParam(_)) if planned.is_refused => Ok(false),
            Err(error) => Err(format!("{dag_id}: {error}")),
        }
    }

    /// Drives a run to its end, and runs the callbacks that it left.
    async fn play(&self, dag_id: &str, run_id: &str) -> Result<(), String> {
        let now = clock::now();
        let mut run = ActiveRun::load(&self.db, &self.run_settings, dag_id, run_id, now).await.unwrap();
        let (channel, mut events) = executor_events();
        let sender = EventSender::new(Arc::new(LocalExecutor::name()), channel);
        let executor = LocalExecutor::new(Arc::clone(&self.supervision), SLOTS, sender);
        let mut heard = Heard::default();
        let drive = Drive {
            db: &self.db,
            run_settings: &self.run_settings,
            service: &self.runtime.service,
            executor: &executor,
            events: &mut events,
            paths: &self.paths,
            is_marked: &|_| false,
            watcher: &mut heard,
            stop: &CancellationToken::new(),
        };
        let end = tokio::time::timeout(PATIENCE, Box::pin(drive.to_the_end(&mut run))).await;
        executor.shut_down().await;
        let Ok(end) = end else {
            return Err(format!("{dag_id} {run_id} does not end: {:#?}", heard.0));
        };
        if let End::Stopped = end.map_err(|error| format!("{dag_id} {run_id}: {error}"))? {
            return Err(format!("{dag_id} {run_id} was stopped"));
        }
        let sink: Arc<dyn Sink> = Arc::new(Nowhere);
        let bundle = &run.definition.bundle_name;
        let ran = run_callbacks_of_run(&self.cx, (dag_id, run_id), bundle, self.job_id, &sink).await;
        ran.map(|_| ()).map_err(|error| format!("{dag_id} {run_id}: {error}"))
    }

    /// Lets all begin that wait for a scheduler: what tasks have asked for.
    async fn start_queued(&self) -> Vec<(String, String)> {
        let now = clock::now();
        let started = self.db.transact(|tx| {
            async move {
                let mut started = Vec::new();
                for run in dag_run::lookup::queued(tx).await? {
                    if dag_run::set_state(tx, run.id, RunState::Queued, RunState::Running, now).await? {
                        started.push((run.dag_id, run.run_id));
                    }
                }
                Ok(started)
            }
            .scope_boxed()
        });
        started.await.unwrap()
    }
}

/// What happened in a run, for when it does not end.
#[derive(Default)]
struct Heard(Vec<String>);

impl Watcher for Heard {
    fn on_update(&mut self, update: &RunUpdate<'_>) {
        self.0.push(format!("{update:?}"));
    }
}

/// What callbacks print is not compared.
struct Nowhere;

impl Sink for Nowhere {
    fn line(&self, _: Stream, _: &str) {}
}
