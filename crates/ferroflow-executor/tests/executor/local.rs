//! The local executor, with the official SDK in its processes.

use std::path::Path;
use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::dag_run;
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::{Host, InProcessApi, Rules, Service};
use ferroflow_executor::{
    Bundle, EventSender, ExecuteTask, Executor, ExecutorEvents, LocalExecutor, Supervision, TaskLogs,
    TaskTry, WorkloadInstance, executor_events,
};
use ferroflow_model::id::{NOT_MAPPED, new_v7};
use ferroflow_model::key::TaskInstanceKey;
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_python::{ForkServer, ForkServerOptions};
use ferroflow_telemetry::clock;
use ferroflow_testkit::rows::{a_run, add_dag};
use ferroflow_testkit::{Server, TestDb, given};
use tempfile::TempDir;
use uuid::Uuid;

use crate::suite::{Does, Subject};

const DAG: &str = r#"
import time
from airflow.sdk import DAG, BaseOperator

class Does(BaseOperator):
    def execute(self, context):
        if self.task_id.startswith("Sleep"):
            time.sleep(600)

with DAG("dag", schedule=None):
    for does in ("Succeed", "Sleep", "NotStart"):
        Does(task_id=does)
"#;

pub(crate) struct Local {
    executor: LocalExecutor,
    events: ExecutorEvents,
    db: Db,
    version: Uuid,
    runs: u32,
    _database: TestDb,
    _home: TempDir,
}

impl Local {
    pub(crate) async fn new() -> Self {
        let database = TestDb::migrated(Server::Sqlite).await;
        let (db, home) = (database.connect().await, tempfile::tempdir().unwrap());
        std::fs::create_dir(home.path().join("dags")).unwrap();
        std::fs::write(home.path().join("dags/dag.py"), DAG).unwrap();
        let version = db.transact(|tx| {
            async move {
                add_dag(tx, "dag").await?;
                let version = NewDagVersion {
                    dag_id: "dag".to_owned(),
                    bundle_name: Some("dags-folder".to_owned()),
                    bundle_version: None,
                    version_data: None,
                };
                dag_version::insert(tx, &version, clock::now()).await
            }
            .scope_boxed()
        });
        let version = version.await.unwrap();
        let supervision = supervision(&db, home.path(), &database.url()).await;
        let (channel, events) = executor_events();
        let sender = EventSender::new(Arc::new(LocalExecutor::name()), channel);
        let executor = LocalExecutor::new(Arc::new(supervision), 2, sender);
        Self { executor, events, db, version, runs: 0, _database: database, _home: home }
    }
}

impl Subject for Local {
    fn executor(&self) -> &dyn Executor {
        &self.executor
    }

    fn events(&mut self) -> &mut ExecutorEvents {
        &mut self.events
    }

    /// It is in a run of its own.
    async fn task(&mut self, does: Does) -> ExecuteTask {
        self.runs += 1;
        let now = clock::now();
        let mut run = a_run("dag", &format!("run {}", self.runs), now);
        (run.state, run.start_date) = (RunState::Running, Some(now));
        let key = TaskInstanceKey {
            dag_id: "dag".to_owned(),
            run_id: run.run_id.clone(),
            task_id: format!("{does:?}"),
            map_index: NOT_MAPPED,
        };
        let mut row = TaskInstance::new(new_v7(now, rand::random()), key, now);
        (row.try_number, row.dag_version_id, row.queued_dttm) = (1, Some(self.version), Some(now));
        row.state = Some(if does == Does::NotStart { TaskState::Success } else { TaskState::Queued });
        let (run, rows) = (&run, &vec![row.clone()]);
        let added = self.db.transact(|tx| {
            async move {
                dag_run::insert(tx, run, now).await?;
                task_instance::insert_many(tx, rows).await
            }
            .scope_boxed()
        });
        added.await.unwrap();
        workload(row)
    }

    async fn clear(&mut self, task: &TaskTry) {
        // It may still be on its way to its process.
        loop {
            let found =
                self.db.read(|tx| async move { task_instance::find(tx, task.id).await }.scope_boxed());
            if found.await.unwrap().unwrap().state == Some(TaskState::Running) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let (from, to) = (Some(TaskState::Running), Some(TaskState::Failed));
        let cleared = self.db.transact(|tx| {
            async move { task_instance::set_state(tx, task.id, from, to, clock::now()).await }.scope_boxed()
        });
        assert!(cleared.await.unwrap());
    }
}

fn workload(row: TaskInstance) -> ExecuteTask {
    ExecuteTask {
        token: String::new(),
        dag_rel_path: "dag.py".to_owned(),
        bundle_info: Bundle { name: "dags-folder".to_owned(), version: None },
        log_path: Some(format!("{}.log", row.id)),
        ti: WorkloadInstance {
            id: row.id,
            task_id: row.key.task_id,
            dag_id: row.key.dag_id,
            run_id: row.key.run_id,
            try_number: row.try_number,
            dag_version_id: row.dag_version_id,
            map_index: row.key.map_index,
            hostname: None,
            context_carrier: None,
            queue: "default".to_owned(),
            pool_slots: 1,
            priority_weight: 1,
        },
        sentry_integration: String::new(),
    }
}

async fn supervision(db: &Db, home: &Path, url: &str) -> Supervision {
    let variables = [
        ("AIRFLOW_HOME", home.display().to_string()),
        ("AIRFLOW__CORE__DAGS_FOLDER", home.join("dags").display().to_string()),
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", url.to_owned()),
    ];
    let environment = variables
        .iter()
        .fold(Environment::empty(home), |environment, (name, value)| environment.with(*name, value.clone()));
    let settings = Arc::new(Settings::load(&Configuration::load(&environment).unwrap()).unwrap());
    let options = ForkServerOptions {
        environment: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        ..ForkServerOptions::new(Path::new(&given("VENV")).join("bin/python"))
    };
    let service = Service {
        db: db.clone(),
        fernet: Arc::new(Fernet::new("").unwrap()),
        environment: Arc::new(environment.clone()),
        backend: None,
        timetables: None,
        rules: Rules::of(&settings),
    };
    let (host, logs) = (Host::of(&environment), TaskLogs::of(&settings));
    let python = ForkServer::start(options).await.unwrap();
    let api = InProcessApi::for_supervisors(service, &python, &settings, &host).unwrap();
    Supervision::new(Arc::new(api), python, settings, host, logs)
}
