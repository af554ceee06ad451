//! What executors do besides tasks leaves what it leaves with the official scheduler and its `LocalExecutor`: callbacks of
//! missed deadlines, with their logs, and connections that are tried. `testdata/executor_work` has both, and the
//! recording.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ferroflow_db::testing::texts;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};
use ferroflow_testkit::{Airflow, Server, repository};
use serde_json::{Value, json};

use crate::scheduler::FERROFLOW;

const SCRIPT: &str = "testdata/executor_work/work.py";
const FERNET_KEY: &str = "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM=";

/// A place with the DAG whose deadlines are missed, and tests of connections that are asked for.
async fn place(server: Server) -> (Place, Airflow) {
    let place = Place::on(server)
        .await
        .with("AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION", "False")
        .with("AIRFLOW__CORE__PARALLELISM", "4")
        .with("AIRFLOW__CALLBACKS__CALLBACK_EXECUTION_TIMEOUT", "5");
    for file in ["deadlines.py", "callback_helpers.py"] {
        place.write(file, fs::read(repository("testdata/executor_work/dags").join(file)).unwrap());
    }
    place.process_once(FERROFLOW);
    let airflow = Airflow::on(&place.db().url()).with("AIRFLOW__CORE__FERNET_KEY", FERNET_KEY);
    airflow.python(SCRIPT, &["seed"], "").expect_success();
    airflow.python(SCRIPT, &["ask"], "").expect_success();
    (place, airflow)
}

async fn all_is_done_as_with_airflow(server: Server) {
    let (place, airflow) = place(server).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    let recorded = fs::read(repository("testdata/executor_work/work.json")).unwrap();
    let mut official: Value = serde_json::from_slice(&recorded).unwrap();
    let logs_at_end = until_done(&place, &official, &scheduler).await;
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
    for (log, at_end) in &logs_at_end {
        let now = fs::read_to_string(log).unwrap();
        assert_eq!(*at_end, now, "{} was not whole when its row said so", log.display());
    }
    let logs = place.root().join("home/logs");
    let shown = airflow.python(SCRIPT, &["show", logs.to_str().unwrap()], "").expect_success();
    let mut ours: Value = serde_json::from_str(&shown).unwrap();
    let of_slow_one = ours["callbacks"]["sleeps"]["log"].to_string();
    assert!(of_slow_one.contains("longer than [callbacks] callback_execution_timeout"), "{of_slow_one}");
    answered(&mut official);
    in_their_own_words(&mut official);
    in_their_own_words(&mut ours);
    for part in ["callbacks", "tests", "connections"] {
        let (ours, official) = (ours[part].as_object().unwrap(), official[part].as_object().unwrap());
        assert_eq!(ours.keys().collect::<Vec<_>>(), official.keys().collect::<Vec<_>>());
        for (name, expected) in official {
            assert_eq!(ours[name], *expected, "{part}: {name}\n{}", scheduler.log());
        }
    }
}

/// Waits until everything has ended. Answers the log of each callback as it was when its row said that it had ended.
async fn until_done(place: &Place, official: &Value, scheduler: &Running) -> BTreeMap<PathBuf, String> {
    let count = |part: &str| official[part].as_object().unwrap().len();
    let (callbacks, tests) = (count("callbacks"), count("tests"));
    let db = place.db().connect().await;
    let ended = async |table: &str| {
        let id = "REPLACE(LOWER(CAST(id AS CHAR(36))), '-', '')";
        let question = format!("SELECT {id} AS answer FROM {table} WHERE state IN ('success', 'failed')");
        texts(&db, &question).await.unwrap()
    };
    let mut logs = BTreeMap::new();
    let done = async {
        loop {
            let called = ended("callback").await;
            for log in logs_of_callbacks(place) {
                let id = log.file_name().unwrap().to_str().unwrap().replace('-', "");
                if called.contains(&id) && !logs.contains_key(&log) {
                    let text = fs::read_to_string(&log).unwrap();
                    logs.insert(log, text);
                }
            }
            if called.len() == callbacks && ended("connection_test_request").await.len() == tests {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let is_done = tokio::time::timeout(Duration::from_mins(2), done).await.is_ok();
    assert!(is_done, "{}", scheduler.log());
    db.close().await;
    assert!(!logs.is_empty());
    logs
}

fn logs_of_callbacks(place: &Place) -> Vec<PathBuf> {
    let below =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    below(place.root().join("home/logs/executor_callbacks")).flat_map(below).flat_map(below).collect()
}

/// Official executors may not ask for variables on behalf of callbacks, which wait in vain.
fn answered(official: &mut Value) {
    let asks = &mut official["callbacks"]["asks"];
    assert_eq!(asks["row"]["state"], "failed");
    asks["row"]["state"] = json!("success");
    asks["row"]["output"] = Value::Null;
    let log = asks["log"].as_array_mut().unwrap();
    log.truncate(1);
    let logger = "unusual_prefix_<hash>_deadlines";
    log.push(json!({"event": "the variable: an answer", "level": "info", "logger": logger}));
    log.push(json!({"event": "Callback executed successfully", "level": "info", "logger": "callback_runner",
        "callback_path": format!("{logger}.asks")}));
}

/// What is said by whoever supervises, and not by Airflow's code in the process, is in our own words.
fn in_their_own_words(shown: &mut Value) {
    for callback in shown["callbacks"].as_object_mut().unwrap().values_mut() {
        // The bundle has another name in each place.
        callback["row"]["bundle_name"] = json!("a bundle");
        let log = callback["log"].as_array_mut().unwrap();
        assert!(log[0]["event"].as_str().unwrap().starts_with("DAG bundles loaded"), "{log:?}");
        log.remove(0);
        log.retain(|line| line["logger"] != "callback" && line["logger"] != "task");
        // Which of several streams is read first is chance.
        log.sort_by_key(|line| line["logger"].to_string());
    }
    for test in shown["tests"].as_object_mut().unwrap().values_mut() {
        let message = test["result_message"].as_str().unwrap();
        if message.contains("NoSuchExecutor") {
            test["result_message"] = json!("there is no such executor");
        }
    }
}

#[tokio::test]
async fn on_sqlite() {
    all_is_done_as_with_airflow(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    all_is_done_as_with_airflow(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    all_is_done_as_with_airflow(Server::MariaDb).await;
}

/// A scheduler is killed while it runs a callback: another one runs that again, once, and nothing of the first is left.
#[tokio::test]
async fn a_callback_of_a_killed_scheduler_is_run_by_another() {
    let place = Place::on(Server::Postgres)
        .await
        .with("AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION", "False")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC", "1")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "5");
    let notes = place.root().join("notes");
    let dags = "
import time
from datetime import datetime, timedelta, timezone
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, DeadlineAlert, DeadlineReference, SyncCallback

def note(what):
    with open('NOTES', 'a') as notes:
        notes.write(what + '\\n')

def first(number):
    note(f'{number} begins')
    time.sleep(600 if number == 0 and len(open('NOTES').readlines()) < 4 else 0)
    note(f'{number} ends')

past = DeadlineReference.FIXED_DATETIME(datetime(2024, 1, 1, tzinfo=timezone.utc))
with DAG('dag', schedule='@once', start_date=datetime(2024, 1, 1), deadline=[
    DeadlineAlert(reference=past, interval=timedelta(0), callback=SyncCallback(first, kwargs={'number': number}))
    for number in range(2)
]):
    EmptyOperator(task_id='nothing')
";
    place.write("dags.py", dags.replace("NOTES", notes.to_str().unwrap()));
    place.process_once(FERROFLOW);
    let mut first = place.start(FERROFLOW, &["scheduler"]);
    let written = || {
        let mut lines: Vec<String> =
            fs::read_to_string(&notes).unwrap_or_default().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(wait_until(90, || written() == ["0 begins", "1 begins", "1 ends"]), "{}", first.log());
    // What became of the second is stored only once its process is gone.
    wait_for_states(&place, |states| states.iter().any(|state| state == "success -")).await;
    let second = place.start(FERROFLOW, &["scheduler"]);
    first.kill();
    let expected = ["0 begins", "0 begins", "0 ends", "1 begins", "1 ends"];
    assert!(wait_until(90, || written() == expected), "{:?}\n{}", written(), second.log());
    let states = wait_for_states(&place, |states| states == ["success -", "success -"]).await;
    assert_eq!(states, ["success -", "success -"], "{}", second.log());
}

/// Waits until the states and outputs of all callbacks are as they should be, and returns them.
async fn wait_for_states(place: &Place, is_so: impl Fn(&[String]) -> bool) -> Vec<String> {
    let db = place.db().connect().await;
    let question = "SELECT CONCAT(state, ' ', COALESCE(output, '-')) AS answer FROM callback";
    let mut states = Vec::new();
    for _ in 0..300 {
        states = texts(&db, question).await.unwrap();
        if is_so(&states) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    db.close().await;
    states
}
