//! Official Airflow runs what ferroflow has parsed.

use std::net::{TcpListener, TcpStream};

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};
use serde_json::json;

use crate::dag_processing::FERROFLOW;

const DAG: &str = "\
from datetime import datetime
from airflow.sdk import DAG, task

with DAG('runs_officially', schedule=None, start_date=datetime(2024, 1, 1)):

    @task
    def numbers():
        return [1, 2]

    @task
    def show(number):
        print(number)

    show.expand(number=numbers())
";

/// Its tasks run, mapped ones too, so the rows mean to the scheduler and to the workers what they should.
#[tokio::test]
async fn the_official_scheduler_runs_a_dag_that_ferroflow_parsed() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = Place::on(Server::Postgres)
        .await
        .with("AIRFLOW__CORE__EXECUTOR", "LocalExecutor")
        .with("AIRFLOW__CORE__PARALLELISM", "2")
        .with("AIRFLOW__CORE__EXECUTION_API_SERVER_URL", &format!("http://127.0.0.1:{port}/execution/"))
        .with("AIRFLOW__API__PORT", &port.to_string())
        .with("AIRFLOW__API__HOST", "127.0.0.1")
        .with("AIRFLOW__API__WORKERS", "1")
        .with(
            "AIRFLOW__API_AUTH__JWT_SECRET",
            "a secret of sixty-four bytes that both of the programs know of..",
        )
        .with("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True");
    place.write("runs_officially.py", DAG);
    place.process_once(FERROFLOW);

    let mut observer = place.observe();
    observer.ask(&json!(["trigger", "runs_officially"]));
    let server = place.start_airflow(&["api-server"]);
    // A task that cannot reach the server fails.
    let listens = wait_until(240, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert!(listens, "{}", server.log());
    let programs: [Running; 2] = [server, place.start_airflow(&["scheduler"])];
    let mut states = json!(null);
    let succeeded = wait_until(240, || {
        states = observer.ask(&json!(["run_states", "runs_officially"]));
        states == json!(["success"]) || states == json!(["failed"])
    });
    let logs = programs.iter().map(Running::log).collect::<Vec<_>>().join("\n");
    assert!(succeeded && states == json!(["success"]), "{states}\n{logs}");
}
