//! A task that runs asks: beside Airflow's supervisor and API, and on every database.

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_execution::InProcessApi;
use ferroflow_execution::wire::{Asker, SdkVersion, TaskRequests};
use ferroflow_operations::dag_run::RunMaking;
use ferroflow_testkit::{Airflow, Server, TestDb};
use jiff::ToSpan as _;
use serde_json::{Value, json};

use crate::messages::xcom_message;
use crate::seed::{DAY_1, KEY};
use crate::seed_assets::{asking, seeded_with_assets};
use crate::seed_runs::seeded_with_runs;
use crate::{asked, client, expect_same, messages, own_messages, run_messages, service, task_messages};

#[tokio::test]
async fn airflow_answers_tasks_the_same_and_writes_the_same() {
    let (ours, theirs) = (seeded_with_assets(Server::Sqlite).await, seeded_with_assets(Server::Sqlite).await);
    let messages = [messages::all(), task_messages::all(), own_messages::all()].concat();
    let official = official(&theirs, &messages);
    expect_same(&requests(&ours).await, &messages, &official).await;
    let tables = ["xcom", "task_map", "task_state_store", "asset_state_store", "hitl_detail"];
    assert_eq!(rows(&ours, &tables), rows(&theirs, &tables));
}

#[tokio::test]
async fn airflow_makes_and_clears_the_same_runs() {
    let (ours, theirs) = (seeded_with_runs(Server::Sqlite).await, seeded_with_runs(Server::Sqlite).await);
    let messages = run_messages::all();
    let official = official(&theirs, &messages);
    expect_same(&requests(&ours).await, &messages, &official).await;
    for table in [
        "dag_run",
        "dag_run_note",
        "task_instance",
        "task_instance_history",
        "hitl_detail",
        "hitl_detail_history",
    ] {
        expect_same_rows(table, &rows(&ours, &[table])[table], &rows(&theirs, &[table])[table]);
    }
}

fn expect_same_rows(table: &str, ours: &Value, theirs: &Value) {
    let (ours, theirs) = (ours.as_array().unwrap(), theirs.as_array().unwrap());
    let lacking = |these: &[Value], those: &[Value]| {
        let lacking = these.iter().filter(|row| !those.contains(row)).map(Value::to_string);
        lacking.collect::<Vec<_>>().join("\n")
    };
    let (only_ours, only_theirs) = (lacking(ours, theirs), lacking(theirs, ours));
    assert!(
        only_ours.is_empty() && only_theirs.is_empty(),
        "{table}\nours\n{only_ours}\nAirflow's\n{only_theirs}"
    );
    assert_eq!(ours.len(), theirs.len(), "{table}");
    assert!(!ours.is_empty(), "{table} tells nothing");
}

#[tokio::test]
async fn tasks_are_answered_on_sqlite() {
    tasks_are_answered(Server::Sqlite).await;
}

#[tokio::test]
async fn tasks_are_answered_on_postgres() {
    tasks_are_answered(Server::Postgres).await;
}

#[tokio::test]
async fn tasks_are_answered_on_mariadb() {
    tasks_are_answered(Server::MariaDb).await;
}

/// Every database answers as SQLite does, which answers as Airflow.
async fn tasks_are_answered(server: Server) {
    let (one, reference) = (seeded_with_runs(server).await, seeded_with_runs(Server::Sqlite).await);
    let (ours, expected) = (requests(&one).await, requests(&reference).await);
    for message in [task_messages::all(), run_messages::all()].concat() {
        let (ours, expected) = (asked(&ours, &message).await, asked(&expected, &message).await);
        assert_eq!(comparable(ours), comparable(expected), "{message}");
    }
}

/// PostgreSQL sorts the keys of a value, and words its errors in its own way.
fn comparable(mut answer: Value) -> Value {
    if answer["error"]["detail"]["detail"]["detail"]["reason"] == "database_error" {
        answer["error"]["detail"]["detail"] = json!("the database's own words");
    }
    answer
}

#[tokio::test]
async fn large_values_pass_unchanged() {
    let database = seeded_with_assets(Server::Sqlite).await;
    let requests = requests(&database).await;
    let rows: Vec<Value> = (0..20_000)
        .map(|n| json!({"number": n, "half": f64::from(n) / 2.0, "text": "é".repeat(20)}))
        .collect();
    let value = Value::from(rows);
    assert!(value.to_string().len() > 1_000_000);
    let set = xcom_message("SetXCom", &json!({"key": "large", "value": value}));
    assert_eq!(asked(&requests, &set).await, json!({"body": null, "error": null}));
    let found = asked(&requests, &xcom_message("GetXCom", &json!({"key": "large"}))).await;
    assert!(found["body"]["value"] == value, "the value has changed");
}

#[tokio::test]
async fn older_sdks_get_what_their_models_know() {
    let database = seeded_with_assets(Server::Sqlite).await;
    let current = requests(&database).await;
    let with_sdk = |version: &str| TaskRequests { sdk: version.parse().unwrap(), ..current.clone() };
    let (of_3_1, of_3_2) = (with_sdk("1.1.0"), with_sdk("1.2.3"));
    let count = xcom_message("GetXComCount", &json!({"task_id": "mapped"}));
    assert_eq!(asked(&of_3_2, &count).await["body"]["type"], "XComLengthResponse");
    assert_eq!(asked(&current, &count).await["body"]["type"], "XComCountResponse");
    let date = (DAY_1 + 1.hour()).to_string();
    let previous = json!({"type": "GetPreviousDagRun", "dag_id": "dag", "logical_date": date});
    let keys = async |requests: &TaskRequests| {
        let found = asked(requests, &previous).await["body"]["dag_run"].clone();
        ["partition_key", "note", "partition_date", "team_name"].map(|key| found.get(key).is_some())
    };
    assert_eq!(keys(&of_3_1).await, [false; 4]);
    assert_eq!(keys(&of_3_2).await, [true, true, false, false]);
    assert_eq!(keys(&current).await, [true; 4]);
    let events = json!({"type": "GetAssetEventByAsset", "name": "active", "uri": null});
    let run = &asked(&of_3_1, &events).await["body"]["asset_events"][0]["created_dagruns"][0];
    assert_eq!((run["run_id"].as_str(), run.get("partition_key")), (Some("run 1"), None));
}

#[tokio::test]
async fn runs_of_timetables_in_python_are_refused_where_nobody_can_ask_python() {
    let database = seeded_with_runs(Server::Sqlite).await;
    let document = "UPDATE serialized_dag SET data = REPLACE(data, \
                    'airflow.timetables.trigger.CronTriggerTimetable', 'plugin.OwnTimetable') \
                    WHERE dag_id = 'target'";
    database.execute(document).await;
    let requests = requests(&database).await;
    let message = json!({"type": "TriggerDagRun", "dag_id": "target", "run_id": "new", "logical_date": DAY_1.to_string()});
    let error = asked(&requests, &message).await["error"].clone();
    assert_eq!(error["detail"]["detail"]["detail"]["reason"], "timetable_needs_python", "{error}");
}

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let database = seeded_with_assets(Server::Sqlite).await;
    let requests = requests(&database).await;
    let set = xcom_message("SetXCom", &json!({"key": "new"}));
    for wrong in [rmpv::Value::F64(f64::NAN), rmpv::Value::Binary(vec![1]), rmpv::Value::Ext(5, vec![1])] {
        let mut body = rmpv::ext::to_value(&set).unwrap();
        if let rmpv::Value::Map(fields) = &mut body {
            fields.push(("value".into(), wrong));
        }
        let ferroflow_python::Answer::Error(error) =
            ferroflow_python::Answers::answer(&requests, "SetXCom", body).await
        else {
            panic!("an error")
        };
        assert_eq!(crate::unpacked(&error)["error"], "API_SERVER_ERROR");
    }
}

async fn requests(database: &TestDb) -> TaskRequests {
    let making = RunMaking::new(&settings(), "me".to_owned(), None).unwrap();
    TaskRequests {
        client: client(InProcessApi::new(service(database).await).with_run_making(making)),
        instance: asking(),
        asker: Asker::default(),
        sdk: SdkVersion::CURRENT,
    }
}

/// What Airflow's supervisor answers a task.
fn official(database: &TestDb, messages: &[Value]) -> String {
    let input = serde_json::to_string(messages).unwrap();
    let airflow = Airflow::on(&database.url())
        .with("AIRFLOW__CORE__FERNET_KEY", KEY)
        .with("AIRFLOW__WORKERS__EXECUTION_API_RETRIES", "1");
    airflow.python("testdata/requests/official.py", &[&asking().to_string()], &input).expect_success()
}

/// The rows of tables, but for what differs from one time to the next.
fn rows(database: &TestDb, tables: &[&str]) -> Value {
    let airflow = Airflow::on(&database.url());
    let answer = airflow.python("testdata/requests/rows.py", tables, "").expect_success();
    serde_json::from_str(answer.lines().last().unwrap()).unwrap()
}

fn settings() -> Settings {
    Settings::load(&Configuration::load(&Environment::empty("/")).unwrap()).unwrap()
}
