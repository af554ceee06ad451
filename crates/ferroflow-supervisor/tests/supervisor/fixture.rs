//! A supervisor of real tasks, and the server that it speaks to.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_execution::Host;
use ferroflow_python::{ForkServer, ForkServerOptions};
use ferroflow_supervisor::{ExecuteTask, Running, Supervised, Supervision, TaskLogs, send_heartbeats};
use ferroflow_testkit::given;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::AbortHandle;
use uuid::Uuid;

use crate::client::SocketApi;
use crate::server::{Instance, Server};

const DAG_FILE: &str = r#"
import os
import time

from airflow.sdk import DAG, Variable, get_current_context, task

with DAG("remote"):

    @task
    def greet():
        greeting = Variable.get("secret_greeting")
        print("says", greeting)
        return {"said": greeting, "conf": get_current_context()["dag_run"].conf}

    @task
    def fail():
        raise ValueError("it cannot be done")

    @task
    def die():
        os._exit(7)

    @task
    def sleep():
        Variable.get("asked", default=None)
        time.sleep(600)

    greet(), fail(), die(), sleep(), sleep.override(task_id="sleep_again")()
"#;

/// Python with Airflow loaded, for all fixtures.
pub(crate) struct Python {
    home: TempDir,
    server: ForkServer,
}

impl Python {
    pub(crate) async fn start() -> Self {
        let home = TempDir::new().unwrap();
        let dags = home.path().join("dags");
        std::fs::create_dir(&dags).unwrap();
        std::fs::write(dags.join("remote.py"), DAG_FILE).unwrap();
        let mut options = ForkServerOptions::new(Path::new(&given("VENV")).join("bin/python"));
        options.boot_timeout = Duration::from_mins(5);
        options.environment = vec![
            ("AIRFLOW_HOME".into(), home.path().into()),
            ("AIRFLOW__CORE__DAGS_FOLDER".into(), dags.into()),
            ("AIRFLOW__CORE__LOAD_EXAMPLES".into(), "False".into()),
        ];
        Self { server: ForkServer::start(options).await.unwrap(), home }
    }
}

/// A supervisor on a host called `worker`.
pub(crate) struct Fixture {
    pub(crate) server: Server,
    folder: TempDir,
    supervision: Arc<Supervision>,
    running: Arc<Running>,
    heartbeats: AbortHandle,
}

impl Fixture {
    pub(crate) fn new(python: &Python) -> Self {
        let folder = TempDir::new().unwrap();
        let server = Server::new(folder.path());
        let environment = Environment::empty("/")
            .with("AIRFLOW_HOME", python.home.path().to_str().unwrap())
            .with("AIRFLOW__LOGGING__BASE_LOG_FOLDER", folder.path().to_str().unwrap())
            .with("AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL", "1");
        let settings = Arc::new(Settings::load(&Configuration::load(&environment).unwrap()).unwrap());
        let api = SocketApi { socket: server.socket.clone(), token: String::new() };
        let host = Host { name: "worker".to_owned(), user: "me".to_owned() };
        let logs = TaskLogs::of(&settings);
        let supervision = Supervision::new(Arc::new(api), python.server.clone(), settings, host, logs);
        let (supervision, running) = (Arc::new(supervision), Arc::new(Running::default()));
        let (shared, all) = (Arc::clone(&supervision), Arc::clone(&running));
        let heartbeats = tokio::spawn(async move { send_heartbeats(&shared, &all).await }).abort_handle();
        Self { server, folder, supervision, running, heartbeats }
    }

    /// Runs a task, whose token is right.
    pub(crate) async fn run(&self, task_id: &str, instance: Instance) -> Supervised {
        let token = instance.token.clone();
        self.run_with_token(task_id, instance, &token).await
    }

    pub(crate) async fn run_with_token(&self, task_id: &str, instance: Instance, token: &str) -> Supervised {
        let id = id(task_id);
        self.server.add(&id, instance);
        let workload: ExecuteTask = serde_json::from_value(json!({
            "token": token, "dag_rel_path": "remote.py",
            "bundle_info": {"name": "dags-folder", "version": null}, "log_path": format!("{task_id}.log"),
            "ti": {
                "id": id, "task_id": task_id, "dag_id": "remote", "run_id": "run", "try_number": 1,
                "dag_version_id": id, "map_index": -1, "hostname": null, "context_carrier": {},
                "queue": "default", "pool_slots": 1, "priority_weight": 1,
            },
            "sentry_integration": "",
        }))
        .unwrap();
        let running = self.running.add(workload.ti.id);
        self.supervision.supervise(&workload, &running, &|_| {}).await
    }

    pub(crate) fn log(&self, task_id: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("{task_id}.log"))).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.heartbeats.abort();
    }
}

/// The id of the try of a task.
pub(crate) fn id(task_id: &str) -> String {
    let number = task_id.bytes().fold(0, |number: u128, byte| number * 256 + u128::from(byte));
    Uuid::from_u128(number).to_string()
}
