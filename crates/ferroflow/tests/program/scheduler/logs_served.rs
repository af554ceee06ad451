//! The logs of tasks over HTTP: every answer beside that of Airflow's own log server.

use std::collections::BTreeSet;
use std::fs;

use ferroflow_testkit::dag_processing::{Place, wait_until};
use ferroflow_testkit::{Airflow, Server};
use serde_json::{Value, json};

use crate::scheduler::FERROFLOW;
use crate::scheduler::http::{get, request};
use crate::scheduler::scene::{free_port, scene};

const SECRET: &str = "a-secret-that-is-long-enough-for-the-algorithm-and-for-everybody-who-looks";
const LOG: &str = "dag_id=d/run_id=manual__2024-01-01T00:00:00+00:00/task_id=t/attempt=1.log";

fn token(kind: &str, claims: impl Into<Value>) -> Value {
    json!({"kind": kind, "claims": claims.into()})
}

fn asked(method: &str, path: &str, headers: &[(&str, &str)], token: impl Into<Value>) -> Value {
    json!({"method": method, "path": path, "headers": headers, "token": token.into()})
}

/// A request for a file with the token that an API server makes for it.
fn meant(path: &str, name: &str) -> Value {
    asked("GET", path, &[], token("official", json!({"filename": name})))
}

fn requests() -> Vec<Value> {
    let path = format!("/log/{LOG}");
    let encoded = path.replace(':', "%3A").replace('+', "%2B");
    let good = || token("official", json!({"filename": LOG}));
    let ranged = |range: &str| asked("GET", &path, &[("Range", range)], good());
    let mut unknown = token("raw", json!({"filename": LOG}));
    unknown["algorithm"] = json!("HS256");
    vec![
        meant(&path, LOG),
        meant(&encoded, LOG),
        asked("HEAD", &path, &[], good()),
        asked("POST", &path, &[], good()),
        asked("DELETE", &path, &[], Value::Null),
        ranged("bytes=0-3"),
        ranged("bytes=5-"),
        ranged("bytes=-4"),
        ranged("bytes=1000-2000"),
        asked("GET", &path, &[], Value::Null),
        asked("GET", &path, &[], token("text", json!({"text": "nonsense"}))),
        asked("GET", &path, &[], token("text", json!({"text": "Bearer a.b.c"}))),
        asked("GET", &path, &[], token("other key", json!({"filename": LOG}))),
        asked("GET", &path, &[], unknown),
        asked("GET", &path, &[], token("shifted", json!({"filename": LOG, "shift": -3600}))),
        asked("GET", &path, &[], token("shifted", json!({"filename": LOG, "shift": 20}))),
        asked("GET", &path, &[], token("shifted", json!({"filename": LOG, "shift": 3600}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "aud": "somebody"}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "aud": ["x", "task-instance-logs"]}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "aud": null}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "exp": null}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "nbf": null}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "iat": null}))),
        asked("GET", &path, &[], token("raw", json!({"filename": LOG, "exp": "soon"}))),
        asked("GET", &path, &[], token("raw", json!({}))),
        asked("GET", &path, &[], token("official", json!({"filename": "dag_id=d"}))),
        meant("/log/dag_id=d", "dag_id=d"),
        meant("/log/nothing.log", "nothing.log"),
        meant("/log/link.log", "link.log"),
        meant("/log/inside.log", "inside.log"),
        meant("/log/..%2Foutside.log", "../outside.log"),
        meant("/log/dag_id=d/..%2F..%2Foutside.log", "dag_id=d/../../outside.log"),
        meant("/elsewhere", "elsewhere"),
        meant("/", ""),
    ]
}

fn official(place: &Place, requests: &[Value]) -> Vec<Value> {
    let airflow = Airflow::on(&place.db().url())
        .with("AIRFLOW__API__SECRET_KEY", SECRET)
        .with("AIRFLOW__LOGGING__BASE_LOG_FOLDER", place.root().join("served").to_str().unwrap());
    let input = serde_json::to_string(requests).unwrap();
    let said = airflow.python("testdata/serve_logs/official_answers.py", &[], &input).expect_success();
    serde_json::from_str(said.lines().last().unwrap()).unwrap()
}

/// What is compared of an answer.
fn ours(port: u16, asked: &Value, official: &Value) -> Value {
    let mut headers: Vec<(String, String)> = serde_json::from_value(asked["headers"].clone()).unwrap();
    if let Some(token) = official["token"].as_str() {
        headers.push(("Authorization".to_owned(), token.to_owned()));
    }
    let (method, path) = (asked["method"].as_str().unwrap(), asked["path"].as_str().unwrap());
    let answer = request(port, method, path, &headers).unwrap();
    let compared = official["headers"].as_object().unwrap().keys();
    let headers: serde_json::Map<String, Value> =
        compared.map(|name| (name.clone(), json!(answer.headers.get(name)))).collect();
    json!({"token": official["token"], "status": answer.status, "headers": headers, "body": answer.body})
}

#[tokio::test]
async fn logs_are_served_as_airflow_serves_them() {
    let port = free_port();
    let place = scene(Server::Sqlite, "")
        .await
        .with("AIRFLOW__API__SECRET_KEY", SECRET)
        .with("AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT", &port.to_string());
    let logs = place.root().join("served");
    let place = place.with("AIRFLOW__LOGGING__BASE_LOG_FOLDER", logs.to_str().unwrap());
    fs::create_dir_all(logs.join(LOG).parent().unwrap()).unwrap();
    fs::write(logs.join(LOG), "{\"event\": \"first\"}\n{\"event\": \"zwölf\"}\n").unwrap();
    fs::write(place.root().join("outside.log"), "secret").unwrap();
    std::os::unix::fs::symlink(place.root().join("outside.log"), logs.join("link.log")).unwrap();
    std::os::unix::fs::symlink(logs.join(LOG), logs.join("inside.log")).unwrap();
    let requests = requests();
    let scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || get(port, "/").is_some()), "{}", scheduler.log());
    let answers = official(&place, &requests);
    let statuses: BTreeSet<u64> = answers.iter().filter_map(|answer| answer["status"].as_u64()).collect();
    assert!(statuses.is_superset(&BTreeSet::from([200, 206, 403, 404, 405, 416])), "{statuses:?}");
    for (asked, official) in requests.iter().zip(&answers) {
        let mut official = official.clone();
        if official["status"] == 200 || official["status"] == 206 {
            // Airflow asks the machine what files with that ending are.
            official["headers"]["content-type"] = json!("text/plain; charset=utf-8");
        }
        assert_eq!(ours(port, asked, &official), official, "{asked}");
    }
    assert!(!scheduler.log().contains(SECRET));
}

#[tokio::test]
async fn logs_are_not_served_if_nobody_wants_that() {
    let port = free_port();
    let place =
        scene(Server::Sqlite, "").await.with("AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT", &port.to_string());
    let scheduler = place.start(FERROFLOW, &["scheduler", "--skip-serve-logs"]);
    assert!(wait_until(60, || scheduler.log().contains("scheduling")), "{}", scheduler.log());
    assert_eq!(get(port, "/"), None);
}
