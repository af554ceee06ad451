//! Service of user code: what they are answered on every database, and beside Airflow's own answers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod locked;
mod messages;
mod own_messages;
mod run_messages;
mod seed;
mod seed_assets;
mod seed_runs;
mod task;
mod task_messages;

use std::sync::Arc;

use ferroflow_config::Environment;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_execution::wire::{Asker, Client, ParsingRequests};
use ferroflow_execution::{InProcessApi, MaskRules, Masker, Rules, Service};
use ferroflow_python::{Answer, Answers};
use ferroflow_testkit::{Airflow, Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use messages::xcom_message;
use rmpv::Value as Packed;
use seed::{DAY_1, KEY, instance_id, seeded};
use serde_json::{Value, json};

const RULES: Rules = Rules {
    max_map_length: 1024,
    rendered_fields_runs: Some(30),
    multi_team: false,
    max_downstream_keys: 1000,
    clear_state_on_success: false,
};

#[tokio::test]
async fn airflow_answers_the_same() {
    let (ours, theirs) = (seeded(Server::Sqlite).await, seeded(Server::Sqlite).await);
    let requests = requests(&ours).await;
    let messages = messages::all();
    let input = serde_json::to_string(&messages).unwrap();
    let airflow = Airflow::on(&theirs.url()).with("AIRFLOW__CORE__FERNET_KEY", KEY);
    let answer = airflow.python("testdata/requests/official.py", &[], &input).expect_success();
    expect_same(&requests, &messages, &answer).await;
}

/// Asks the same, and holds the answers beside Airflow's.
async fn expect_same(requests: &impl Answers, messages: &[Value], airflow: &str) {
    let official: Vec<Value> = serde_json::from_str(airflow.lines().last().unwrap()).unwrap();
    assert_eq!(messages.len(), official.len());
    let mut differences = Vec::new();
    for (message, official) in messages.iter().zip(official) {
        let (ours, official) = (comparable(&asked(requests, message).await), comparable(&official));
        if ours != official {
            differences.push(format!("{message}\n  ours     {ours}\n  official {official}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn answers_on_sqlite() {
    answers(Server::Sqlite).await;
}

#[tokio::test]
async fn answers_on_postgres() {
    answers(Server::Postgres).await;
}

#[tokio::test]
async fn answers_on_mariadb() {
    answers(Server::MariaDb).await;
}

/// What is certain without Airflow, on every database.
async fn answers(server: Server) {
    let database = seeded(server).await;
    let requests = requests(&database).await;
    let ask = async |message: Value| asked(&requests, &message).await["body"].clone();

    let keys = ask(json!({"type": "GetVariableKeys", "prefix": "a_", "limit": 2})).await;
    assert_eq!((&keys["keys"], &keys["total_entries"]), (&json!(["a_1", "a_2"]), &json!(3)));
    ask(json!({"type": "PutVariable", "key": "new", "value": "plain", "description": null})).await;
    assert_eq!(ask(json!({"type": "GetVariable", "key": "new"})).await["value"], "plain");
    assert_eq!(ask(json!({"type": "DeleteVariable", "key": "new"})).await["ok"], true);
    assert_eq!(ask(json!({"type": "GetVariable", "key": "new"})).await["error"], "VARIABLE_NOT_FOUND");

    let prior = xcom_message("GetXCom", &json!({"run_id": "run 2", "include_prior_dates": true}));
    assert_eq!(ask(prior).await["value"], json!({"run": 1, "index": -1}));
    let slice = json!({"task_id": "mapped", "start": -2, "stop": null, "step": null});
    assert_eq!(ask(xcom_message("GetXComSequenceSlice", &slice)).await["root"], json!([3, 4]));
    let item = xcom_message("GetXComSequenceItem", &json!({"task_id": "mapped", "offset": -1}));
    assert_eq!(ask(item).await["root"], 4);
    let count = xcom_message("GetXComCount", &json!({"task_id": "mapped"}));
    assert_eq!(ask(count).await["len"], 5);

    let dates = json!({"type": "GetTICount", "dag_id": "dag", "logical_dates": [DAY_1.to_string()], "states": ["null", "success"]});
    assert_eq!(ask(dates).await["count"], 6);
    let group =
        json!({"type": "GetTaskStates", "dag_id": "dag", "task_group_id": "group", "run_ids": ["run 1"]});
    assert_eq!(ask(group).await["task_states"], json!({"run 1": {"group.inner": "success"}}));
    let previous = json!({"type": "GetPreviousTI", "dag_id": "dag", "task_id": "one", "state": "failed"});
    assert_eq!(ask(previous).await["task_instance"]["run_id"], "run 2");
    let previous = json!({"type": "GetPreviousDagRun", "dag_id": "dag", "logical_date": (DAY_1 + 24.hours()).to_string()});
    assert_eq!(ask(previous).await["dag_run"]["run_id"], "run 1");
    let success = json!({"type": "GetPrevSuccessfulDagRun", "ti_id": instance_id(2, 0).to_string()});
    assert_eq!(ask(success).await["data_interval_start"], time_of(DAY_1));
}

#[tokio::test]
async fn the_environment_goes_before_the_database_and_secrets_are_masked() {
    let database = seeded(Server::Sqlite).await;
    let environment = Environment::empty("/")
        .with("AIRFLOW_VAR_A_1", "from outside")
        .with("AIRFLOW_CONN_FULL", "postgresql://me:p%40ssword@Host:5/db?x=1&y=a+b")
        .with("AIRFLOW_CONN_PLAIN", "{broken");
    let service = Service { environment: Arc::new(environment), ..service(&database).await };
    let requests = requests_of(service);
    let ask = async |message: Value| asked(&requests, &message).await["body"].clone();
    assert_eq!(ask(json!({"type": "GetVariable", "key": "a_1"})).await["value"], "from outside");
    let expected = json!({
        "conn_id": "full", "conn_type": "postgres", "host": "host", "schema": "db", "login": "me",
        "password": "p@ssword", "port": 5, "extra": "{\"x\": 1, \"y\": \"a b\"}", "type": "ConnectionResult",
    });
    assert_eq!(ask(json!({"type": "GetConnection", "conn_id": "full"})).await, expected);
    let fallen_through = ask(json!({"type": "GetConnection", "conn_id": "plain"})).await;
    assert_eq!(fallen_through["conn_type"], "http", "what cannot be read is passed over");
    ask(json!({"type": "MaskSecret", "value": {"token": "t0ken!"}, "name": null})).await;
    assert_eq!(
        requests.client.masker.redact("p@ssword, t0ken! and from outside"),
        "***, *** and from outside"
    );
}

#[tokio::test]
async fn what_cannot_be_read_or_is_not_known_is_answered() {
    let database = seeded(Server::Sqlite).await;
    let requests = requests(&database).await;
    let error = asked(&requests, &json!({"type": "GetVariable"})).await["error"].clone();
    assert_eq!(error["detail"]["status_code"], 400);
    assert!(error["detail"]["message"].as_str().unwrap().contains("missing field `key`"), "{error}");
    let error = asked(&requests, &json!({"type": "SetXCom"})).await["error"].clone();
    let detail = json!({"status_code": 400, "message": "Unhandled request"});
    assert_eq!(error, json!({"error": "GENERIC_ERROR", "detail": detail, "type": "ErrorResponse"}));
}

#[tokio::test]
async fn times_of_a_frame_are_understood() {
    let database = seeded(Server::Sqlite).await;
    let requests = requests(&database).await;
    let seconds = u32::try_from(DAY_1.as_second()).unwrap() + 1;
    let date = Packed::Ext(-1, seconds.to_be_bytes().to_vec());
    let dates = Packed::Array(vec![date.clone()]);
    let fields = [("dag_id", "dag".into()), ("logical_date", date), ("logical_dates", dates)];
    let body = Packed::Map(fields.map(|(name, value)| (name.into(), value)).into());
    let Answer::Body(answer) = requests.answer("GetPreviousDagRun", body.clone()).await else {
        panic!("a body")
    };
    assert_eq!(unpacked(&answer)["dag_run"]["run_id"], "run 1");
    let Answer::Body(answer) = requests.answer("GetTICount", body).await else { panic!("a body") };
    assert_eq!(unpacked(&answer)["count"], 0);
}

async fn requests(database: &TestDb) -> ParsingRequests {
    requests_of(service(database).await)
}

fn requests_of(service: Service) -> ParsingRequests {
    ParsingRequests { client: client(InProcessApi::new(service)), asker: Asker::default() }
}

fn client(api: InProcessApi) -> Client {
    Client { api: Arc::new(api), masker: Arc::new(Masker::new(MaskRules::default())) }
}

async fn service(database: &TestDb) -> Service {
    Service {
        db: database.connect().await,
        fernet: Arc::new(Fernet::new(KEY).unwrap()),
        environment: Arc::new(Environment::empty("/")),
        backend: None,
        timetables: None,
        rules: RULES,
    }
}

async fn asked(requests: &impl Answers, message: &Value) -> Value {
    let body = rmpv::ext::to_value(message).unwrap();
    match requests.answer(message["type"].as_str().unwrap(), body).await {
        Answer::Body(body) => json!({"body": unpacked(&body), "error": null}),
        Answer::Done => json!({"body": null, "error": null}),
        Answer::Error(error) => json!({"body": null, "error": unpacked(&error)}),
    }
}

/// Of errors only what a program can act on: kind and status. What Airflow cannot read, it leaves without an answer;
/// ours is an error that says so.
fn comparable(answer: &Value) -> Value {
    if answer.is_null()
        || answer["error"]["detail"]["message"].as_str().is_some_and(|text| text.contains("cannot be read: "))
    {
        return json!("not read");
    }
    let mut answer = answer.clone();
    if !answer["error"].is_null() {
        answer["error"] = json!([answer["error"]["error"], answer["error"]["detail"]["status_code"]]);
    }
    answer
}

fn time_of(time: Timestamp) -> Value {
    json!({"__time": time.as_microsecond()})
}

fn unpacked(value: &Packed) -> Value {
    match value {
        Packed::Ext(-1, bytes) => {
            let nanoseconds = i32::from_be_bytes(bytes[..4].try_into().unwrap());
            let seconds = i64::from_be_bytes(bytes[4..].try_into().unwrap());
            time_of(Timestamp::new(seconds, nanoseconds).unwrap())
        }
        Packed::Map(entries) => {
            entries.iter().map(|(key, value)| (key.as_str().unwrap().to_owned(), unpacked(value))).collect()
        }
        Packed::Array(items) => items.iter().map(unpacked).collect(),
        scalar => serde_json::to_value(scalar).unwrap(),
    }
}
