//! A database with one DAG.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ferroflow_config::Environment;
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, Json, ScopedFutureExt as _, dag_run, task_instance};
use ferroflow_execution::{Rules, Service};
use ferroflow_executor::{EventSender, LocalExecutor, executor_events};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::{RunState, RunType, TaskState, TriggeredBy};
use ferroflow_model::timetable::DataInterval;
use ferroflow_scheduler::create_run::{self, DagVersionRef, NewRun};
use ferroflow_scheduler::foreground_run::{Drive, End, RunUpdate, Watcher};
use ferroflow_scheduler::run::{ActiveRun, Pace, RunSettings};
use ferroflow_scheduler::{LogPaths, Questions};
use ferroflow_testkit::rows::add_dag;
use ferroflow_testkit::{Server, TestDb};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::driven::fake::{Fake, Player, Script};
use crate::driven::sketch::Sketch;

pub(crate) const DAG: &str = "sketch";
pub(crate) const DATE: Timestamp = Timestamp::constant(1_700_000_000, 0);

pub(crate) struct Place {
    pub(crate) database: TestDb,
    pub(crate) db: Db,
    pub(crate) dag: Dag,
    pub(crate) version: DagVersionRef,
    pub(crate) tracked: TrackedEvent,
}

/// What was heard of runs, by whoever holds a copy.
#[derive(Clone, Default)]
pub(crate) struct TrackedEvent(Arc<Mutex<Vec<String>>>);

impl TrackedEvent {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Watcher for TrackedEvent {
    fn on_update(&mut self, update: &RunUpdate<'_>) {
        let (word, instance) = match update {
            RunUpdate::Started(instance) => ("started", instance),
            RunUpdate::Ended(instance) => ("ended", instance),
            RunUpdate::Settled(instance) => ("settled", instance),
            RunUpdate::MarkedSuccess(instance) => ("marked", instance),
            RunUpdate::WaitsElsewhere(instance) => ("waits", instance),
            RunUpdate::NotStarted(instance, _) => ("not started", instance),
            RunUpdate::Interrupted => return self.add("interrupted".to_owned()),
        };
        let state = instance.state.map_or("none", TaskState::as_str);
        self.add(format!("{word} {}[{}] {state}", instance.key.task_id, instance.key.map_index));
    }
}

impl Place {
    pub(crate) async fn new(server: Server, sketch: &Sketch) -> Self {
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        let text = sketch.document(DAG).to_string();
        let dag = Dag::decode(&text).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
        let document = &Json::from_text(text).unwrap();
        let stored = db.transact(|tx| {
            async move {
                add_dag(tx, DAG).await?;
                let version = NewDagVersion {
                    dag_id: DAG.to_owned(),
                    bundle_name: Some("dags-folder".to_owned()),
                    bundle_version: None,
                    version_data: None,
                };
                let id = dag_version::insert(tx, &version, DATE).await?;
                let serialized = NewSerializedDag {
                    dag_id: DAG.to_owned(),
                    dag_version_id: id,
                    dag_hash: "0".repeat(32),
                    data: document.clone(),
                };
                serialized_dag::insert(tx, &serialized, false, DATE).await?;
                Ok(id)
            }
            .scope_boxed()
        });
        let id = stored.await.unwrap();
        Self { database, db, dag, version: DagVersionRef { id }, tracked: TrackedEvent::default() }
    }

    /// Makes a run, at its beginning.
    pub(crate) async fn make(&self, run: &NewRun) -> Result<i64, create_run::Error> {
        let made = self.db.transact(|tx| {
            async move {
                match create_run::create(tx, &self.dag, &self.version, run, ferroflow_telemetry::clock::now())
                    .await
                {
                    Err(create_run::Error::Db(error)) => Err(error),
                    other => Ok(other),
                }
            }
            .scope_boxed()
        });
        Ok(made.await.unwrap()?.id)
    }

    pub(crate) async fn load(&self, run_id: &str) -> ActiveRun {
        ActiveRun::load(&self.db, &run_settings(), DAG, run_id, ferroflow_telemetry::clock::now())
            .await
            .unwrap()
    }

    /// Makes a run and drives it to its end by a script.
    pub(crate) async fn play(&self, script: Script) -> Played {
        self.make(&new_run("run")).await.unwrap();
        self.drive("run", script, &|_| false, &CancellationToken::new()).await
    }

    pub(crate) async fn drive(
        &self,
        run_id: &str,
        script: Script,
        is_marked: &(dyn Fn(&str) -> bool + Sync),
        stop: &CancellationToken,
    ) -> Played {
        let mut run = self.load(run_id).await;
        let (sender, mut events) = executor_events();
        let (executor, given) = Fake::new(EventSender::new(Arc::new(LocalExecutor::name()), sender));
        let player = Player::new(&executor, (&self.db, &self.database), script, run.row.id);
        let mut tracked = self.tracked.clone();
        let before = tracked.lines().len();
        let paths = LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap();
        let drive = Drive {
            db: &self.db,
            run_settings: &run_settings(),
            service: &service(&self.db),
            executor: &executor,
            events: &mut events,
            paths: &paths,
            is_marked,
            watcher: &mut tracked,
            stop,
        };
        let ending = async {
            tokio::select! {
                end = drive.to_the_end(&mut run) => end,
                () = player.play_all(given) => unreachable!("it plays without end"),
            }
        };
        // It is large, and each test has one.
        let end = Box::pin(tokio::time::timeout(std::time::Duration::from_mins(2), ending));
        let end =
            end.await.unwrap_or_else(|_| panic!("no end in sight: {:#?}", self.tracked.lines())).unwrap();
        let states = self.states(run_id).await;
        let seen: BTreeMap<String, String> = run
            .instances()
            .map(|one| (name(&one.key.task_id, one.key.map_index), word(one.state, one.try_number)))
            .collect();
        assert_eq!(seen, states, "what is known in memory is what the database has");
        Played { end, states, tracked: self.tracked.lines().split_off(before), run: self.row(run_id).await }
    }

    /// What became of the tasks: the state, and how often each was tried.
    pub(crate) async fn states(&self, run_id: &str) -> BTreeMap<String, String> {
        let rows = self
            .db
            .read(|tx| async move { task_instance::scheduling::of_run(tx, DAG, run_id).await }.scope_boxed())
            .await
            .unwrap();
        rows.iter().map(|row| (name(&row.task_id, row.map_index), word(row.state, row.try_number))).collect()
    }

    pub(crate) async fn row(&self, run_id: &str) -> dag_run::DagRun {
        let found = self.db.read(|tx| async move { dag_run::find(tx, DAG, run_id).await }.scope_boxed());
        found.await.unwrap().unwrap()
    }
}

pub(crate) struct Played {
    pub(crate) end: End,
    states: BTreeMap<String, String>,
    pub(crate) tracked: Vec<String>,
    pub(crate) run: dag_run::DagRun,
}

impl Played {
    /// Asserts what became of the tasks: `a success; b[0] failed 2`; a task that was tried once needs no number.
    pub(crate) fn assert(&self, state: RunState, expected: &str) {
        let wanted: BTreeMap<String, String> = expected
            .split(';')
            .map(|words| {
                let words: Vec<&str> = words.split_whitespace().collect();
                (words[0].to_owned(), words[1..].join(" "))
            })
            .collect();
        assert_eq!(self.states, wanted, "{:#?}", self.tracked);
        assert_eq!(self.run.state, state);
    }
}

fn name(task_id: &str, map_index: i32) -> String {
    if map_index < 0 { task_id.to_owned() } else { format!("{task_id}[{map_index}]") }
}

fn word(state: Option<TaskState>, tries: i32) -> String {
    let state = state.map_or("none", TaskState::as_str);
    if tries == 1 { state.to_owned() } else { format!("{state} {tries}") }
}

pub(crate) fn run_settings() -> RunSettings {
    RunSettings {
        job_id: None,
        unixname: "somebody".to_owned(),
        fernet: Arc::default(),
        longest_wait: 86_400,
        pace: Pace::Scheduled,
        rules: None,
        questions: Questions::default(),
    }
}

pub(crate) fn new_run(run_id: &str) -> NewRun {
    NewRun {
        dag_id: DAG.to_owned(),
        run_id: run_id.to_owned(),
        run_type: RunType::Manual,
        logical_date: Some(DATE),
        data_interval: Some(DataInterval { start: DATE, end: DATE }),
        run_after: DATE,
        state: RunState::Running,
        start_date: None,
        conf: None,
        triggered_by: TriggeredBy::Test,
        triggering_user_name: None,
        note: None,
        partition_key: None,
        partition_date: None,
        backfill_id: None,
        creating_job_id: None,
        bundle_version: None,
        unixname: "somebody".to_owned(),
    }
}

fn service(db: &Db) -> Service {
    Service {
        db: db.clone(),
        fernet: Arc::new(Fernet::new("").unwrap()),
        environment: Arc::new(Environment::empty("/")),
        backend: None,
        timetables: None,
        rules: Rules {
            max_map_length: 1024,
            max_downstream_keys: 1000,
            rendered_fields_runs: Some(30),
            multi_team: false,
            clear_state_on_success: false,
        },
    }
}
