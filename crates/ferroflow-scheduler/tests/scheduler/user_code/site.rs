//! A site with plugins and perhaps a hook: its database, the official Airflow in it, and a scheduler of ours.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, ScopedFutureExt as _, dag_bundle};
use ferroflow_execution::{Host, Rules, Service};
use ferroflow_model::readiness::WhenReady;
use ferroflow_python::task_instances::InstanceRules;
use ferroflow_python::timetables::Timetables;
use ferroflow_python::{ForkServer, ForkServerOptions};
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::create_runs::{CreatedRuns, create_runs};
use ferroflow_scheduler::run::{ActiveRun, Definition, Pace, RunSettings};
use ferroflow_scheduler::start_runs::start_runs;
use ferroflow_scheduler::{Context, Definitions, Error, Progress, Questions};
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Airflow, Server, TestDb, given, repository};
use jiff::SignedDuration;
use serde_json::Value;
use tempfile::TempDir;

const SCRIPT: &str = "testdata/user_code/official_scheduler.py";

pub(crate) struct Site {
    database: TestDb,
    pub(crate) db: Db,
    folder: TempDir,
    /// The folder of `airflow_local_settings`.
    hook: Option<String>,
    /// What is set besides.
    variables: Vec<(&'static str, String)>,
    airflow: Airflow,
}

impl Site {
    /// A site whose hook is in this folder of `testdata/user_code`.
    pub(crate) async fn new(server: Server, hook: Option<&str>) -> Self {
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        db.transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
            .await
            .unwrap();
        let hook = hook.map(|hook| text(&repository("testdata/user_code").join(hook)));
        let airflow = settings(hook.as_deref())
            .into_iter()
            .fold(Airflow::on(&database.url()), |airflow, (name, value)| airflow.with(name, &value));
        let (folder, variables) = (tempfile::tempdir().unwrap(), Vec::new());
        Self { database, db, folder, hook, variables, airflow }
    }

    /// With one more environment variable.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.airflow = self.airflow.with(name, value);
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Takes steps with the official Airflow. Returns all task instances as each `dump` sees them.
    pub(crate) fn official(&self, steps: &[&str]) -> Vec<Vec<Value>> {
        let folder = text(self.folder.path());
        let output = self.airflow.python(SCRIPT, &[&[folder.as_str()], steps].concat(), "").expect_success();
        output.lines().filter(|line| line.starts_with("{\"rows\"")).map(|line| self.rows(line)).collect()
    }

    /// Without what differs by design: every copy of a mapped task has its display name here, and an instance that a hook
    /// has seen has a place in a trace.
    fn rows(&self, line: &str) -> Vec<Value> {
        let mut dumped: Value = serde_json::from_str(line).unwrap();
        let rows = dumped["rows"].as_array_mut().unwrap();
        for row in &mut *rows {
            let row = row.as_object_mut().unwrap();
            row.remove("task_display_name");
            if self.hook.is_some() {
                row.remove("context_carrier");
            }
        }
        std::mem::take(rows)
    }

    /// A scheduler whose user code may take so long.
    pub(crate) async fn scheduler(&self, limit: Duration) -> Context {
        let environment = Environment::empty("/");
        let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
        let fernet = Arc::new(Fernet::new("").unwrap());
        let db = self.db.clone();
        let server = self.python().await;
        Context {
            service: Service {
                db: db.clone(),
                fernet: Arc::clone(&fernet),
                environment: Arc::new(environment),
                backend: None,
                timetables: None,
                rules: Rules::of(&settings),
            },
            db,
            settings: Arc::new(settings),
            job_id: 7,
            run_settings: RunSettings {
                job_id: Some(7),
                unixname: Host::of(&Environment::from_process()).user,
                fernet,
                longest_wait: 86_400,
                pace: Pace::Scheduled,
                rules: Some(Arc::new(InstanceRules::new(server.clone(), limit))),
                questions: Questions::default(),
            },
            timetables: Some(Arc::new(Timetables::new(server, limit))),
            definitions: Definitions::new(SignedDuration::ZERO),
            orphan_retries: OrphanRetries::default(),
            row_retries: RowRetries::default(),
            progress: Progress::default(),
        }
    }

    /// A fork server.
    pub(crate) async fn python(&self) -> ForkServer {
        ForkServer::start(self.options()).await.unwrap()
    }

    fn options(&self) -> ForkServerOptions {
        let mut options = ForkServerOptions::new(Path::new(&given("VENV")).join("bin/python"));
        options.inherit_environment = false;
        options.boot_timeout = Duration::from_mins(5);
        let own = [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("AIRFLOW_HOME", text(self.folder.path())),
            ("AIRFLOW__CORE__LOAD_EXAMPLES", "False".to_owned()),
            ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", self.database.url()),
        ];
        let all = own.into_iter().chain(settings(self.hook.as_deref())).chain(self.variables.clone());
        options.environment = all.map(|(name, value)| (name.into(), value.into())).collect();
        options
    }
}

/// What Airflow and the fork server are both told.
fn settings(hook: Option<&str>) -> Vec<(&'static str, String)> {
    let plugins = text(&repository("testdata/user_code/plugins"));
    let mut settings = vec![
        ("AIRFLOW__CORE__PLUGINS_FOLDER", plugins),
        ("AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL", "0".to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
    ];
    settings.extend(hook.map(|hook| ("PYTHONPATH", hook.to_owned())));
    settings
}

/// Makes the runs that are due, and starts them.
pub(crate) async fn make_runs(cx: &Context) -> CreatedRuns {
    let created = create_runs(cx, clock::now()).await.unwrap();
    start_runs(cx, clock::now()).await.unwrap();
    created
}

/// Examines the only run of a DAG, with the newest version of that.
pub(crate) async fn examine(cx: &Context, dag_id: &str) -> Result<(), Error> {
    let run_id = &run_id(cx, dag_id).await;
    let newest =
        cx.db.read(|tx| async move { Error::split(Definition::latest(tx, dag_id).await) }.scope_boxed());
    let newest = Arc::new(newest.await.unwrap().unwrap());
    let mut run = ActiveRun::load(&cx.db, &cx.run_settings, dag_id, run_id, clock::now()).await?;
    run.go_on_with(&cx.db, &cx.run_settings, newest, clock::now()).await?;
    while run.needs_step(clock::now()) {
        run.step(&cx.db, &cx.run_settings, WhenReady::Schedule, clock::now()).await?;
    }
    Ok(())
}

pub(crate) async fn run_id(cx: &Context, dag_id: &str) -> String {
    let question = format!("SELECT run_id AS answer FROM dag_run WHERE dag_id = '{dag_id}'");
    ferroflow_db::testing::texts(&cx.db, &question).await.unwrap().remove(0)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
