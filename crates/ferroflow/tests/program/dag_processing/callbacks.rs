//! A callback is called once, however many processors there are.

use std::collections::BTreeMap;

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};
use serde_json::json;

use crate::dag_processing::FERROFLOW;

const DAG: &str = "\
import os
from datetime import datetime
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

def tell(context):
    # One write of one short line: those of several processes do not mix.
    with open(os.environ['CALLED'], 'ab', buffering=0) as called:
        called.write(f\"{context['run_id']}\\n\".encode())

with DAG('calls_back', schedule=None, start_date=datetime(2024, 1, 1), on_failure_callback=tell):
    EmptyOperator(task_id='only')
";

const CALLBACKS: usize = 60;

async fn two_processors_call_each_callback_once(server: Server) {
    let place = Place::on(server).await;
    let called = place.root().join("called");
    let place = place.with("CALLED", &called.display().to_string());
    place.write("calls_back.py", DAG);
    let mut observer = place.observe();
    let processors: [Running; 2] = [(); 2].map(|()| place.start(FERROFLOW, &["dag-processor"]));
    let logs = || processors.iter().map(Running::log).collect::<Vec<_>>().join("\n");
    assert!(wait_until(90, || observer.serialized() == ["calls_back"]), "{}", logs());

    for first in (0..CALLBACKS).step_by(10) {
        observer.ask(&json!(["add_dag_callbacks", "calls_back", "calls_back.py", first, 10]));
    }
    let lines = || std::fs::read_to_string(&called).unwrap_or_default();
    assert!(wait_until(120, || lines().lines().count() >= CALLBACKS), "{}\n{}", lines(), logs());
    assert!(wait_until(60, || observer.ask(&json!(["callbacks_left"])) == json!(0)));

    for running in &processors {
        running.terminate();
    }
    for mut running in processors {
        assert_eq!(running.wait_for_end(30), Some(0), "{}", running.log());
    }
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines().lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> =
        (0..CALLBACKS).map(|number| (format!("run {number}"), 1)).collect();
    assert_eq!(times, expected);
}

#[tokio::test]
async fn on_sqlite() {
    two_processors_call_each_callback_once(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    two_processors_call_each_callback_once(Server::Postgres).await;
}

/// As it is left if the connection is lost while a callback is taken: the row says so, and the processor does not know.
#[tokio::test]
async fn a_callback_that_a_living_processor_does_not_know_of_is_run() {
    let place = Place::on(Server::Sqlite).await.with("AIRFLOW__DAG_PROCESSOR__HEALTH_CHECK_THRESHOLD", "2");
    let called = place.root().join("called");
    let place = place.with("CALLED", &called.display().to_string());
    place.write("calls_back.py", DAG);
    place.process_once(FERROFLOW);
    let mut observer = place.observe();
    observer.ask(&json!(["add_dag_callbacks", "calls_back", "calls_back.py", 0, 1]));
    // The processor that comes next is the second one on this database.
    place.db().execute("UPDATE callback SET bundle_name = 'ferroflow:2:main', state = 'running'").await;
    let running = place.start(FERROFLOW, &["dag-processor"]);
    let lines = || std::fs::read_to_string(&called).unwrap_or_default();
    assert!(wait_until(60, || lines() == "run 0\n"), "{}\n{}", lines(), running.log());
    assert!(wait_until(30, || observer.ask(&json!(["callbacks_left"])) == json!(0)));
}

/// Each callback hangs, and there are more of them than children.
#[tokio::test]
async fn callbacks_that_hang_leave_a_child_to_files() {
    let place = Place::on(Server::Sqlite).await.with("AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES", "2");
    let called = place.root().join("called");
    let place = place.with("CALLED", &called.display().to_string());
    let hangs = DAG.replace("encode())\n", "encode())\n    import time\n    time.sleep(3600)\n");
    place.write("calls_back.py", hangs);
    let running = place.start(FERROFLOW, &["dag-processor"]);
    let mut observer = place.observe();
    assert!(wait_until(60, || observer.serialized() == ["calls_back"]), "{}", running.log());
    observer.ask(&json!(["add_dag_callbacks", "calls_back", "calls_back.py", 0, 10]));
    let has_begun = || std::fs::read_to_string(&called).is_ok_and(|lines| !lines.is_empty());
    assert!(wait_until(30, has_begun), "{}", running.log());
    place.write_dag("beside");
    let is_parsed = wait_until(30, || observer.serialized() == ["beside", "calls_back"]);
    assert!(is_parsed, "{}", running.log());
}

/// With one child for everything, and rows of callbacks that cannot be removed: one that was run, and one that nobody can read.
#[tokio::test]
async fn a_callback_that_cannot_be_removed_keeps_neither_files_nor_callbacks_waiting() {
    let place = Place::on(Server::Sqlite).await.with("AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES", "1");
    let called = place.root().join("called");
    let place = place.with("CALLED", &called.display().to_string());
    place.write("calls_back.py", DAG);
    let mut observer = place.observe();
    observer.ask(&json!(["add_dag_callbacks", "calls_back", "calls_back.py", 0, 2]));
    place.db().execute("UPDATE callback SET data = '{}' WHERE priority_weight = 1").await;
    let refuses = "BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    place.db().execute(format!("CREATE TRIGGER refusal BEFORE DELETE ON callback {refuses}")).await;
    let mut running = place.start(FERROFLOW, &["dag-processor"]);
    let lines = || std::fs::read_to_string(&called).unwrap_or_default();
    let says = |times| running.log().matches("cannot be removed").count() >= times;
    assert!(wait_until(60, || lines() == "run 0\n" && says(2)), "{}\n{}", lines(), running.log());
    place.write_dag("beside");
    observer.ask(&json!(["add_dag_callbacks", "calls_back", "calls_back.py", 5, 1]));
    let goes_on = wait_until(60, || lines() == "run 0\nrun 5\n" && observer.serialized().len() == 2);
    assert!(goes_on, "{}\n{}", lines(), running.log());
    running.terminate();
    assert_eq!(running.wait_for_end(30), Some(0), "{}", running.log());
}
