//! The life of task instances: what calls answer and write on every database, beside Airflow's own Execution API.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod bad_runs;
mod calls;
mod crowd;
mod own_ways;
mod races;
mod seed;

use std::sync::Arc;

use calls::{Call, story};
use ferroflow_config::Environment;
use ferroflow_db::Json;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::TaskInstance;
use ferroflow_execution::task_instance::StateSet;
use ferroflow_execution::{MaskRules, Masker, Refusal, Rules, Service};
use ferroflow_testkit::{Airflow, Server, TestDb};
use seed::seeded;
use serde_json::{Value, json};

const SCRIPT: &str = "testdata/execution_api/official.py";

const RULES: Rules = Rules {
    max_map_length: 1024,
    rendered_fields_runs: Some(3),
    multi_team: false,
    max_downstream_keys: 1000,
    clear_state_on_success: true,
};

#[tokio::test]
async fn airflow_does_the_same_on_sqlite() {
    airflow_does_the_same(Server::Sqlite).await;
}

#[tokio::test]
async fn airflow_does_the_same_on_postgres() {
    airflow_does_the_same(Server::Postgres).await;
}

#[tokio::test]
async fn airflow_does_the_same_on_mariadb() {
    airflow_does_the_same(Server::MariaDb).await;
}

async fn airflow_does_the_same(server: Server) {
    let story = story();
    let (ours, theirs) = (seeded(server, &story.instances).await, seeded(server, &story.instances).await);
    let calls: Vec<Value> = story.calls.iter().map(Call::over_http).collect();
    let airflow = airflow(&theirs);
    let input = json!({"calls": calls, "ends": story.gone.iter().map(key).collect::<Vec<_>>()});
    let official: Value = last_line(&airflow.python(SCRIPT, &["play"], &input.to_string()).expect_success());
    let answers = official["answers"].as_array().unwrap();
    assert_eq!(answers.len(), story.calls.len());
    let service = service(&ours).await;
    let mut differences = Vec::new();
    for (call, official) in story.calls.iter().zip(answers) {
        let (answered, official) = (answer(&service, call).await, comparable(official.clone()));
        if answered != official {
            let Call { operation, body, about, .. } = call;
            differences
                .push(format!("{operation} {body} ({about})\n  ours     {answered}\n  official {official}"));
        }
    }
    for gone in &story.gone {
        service.fail_unreported(gone.id, gone.try_number, "it is gone").await.unwrap();
    }
    let ours: Value = last_line(&self::airflow(&ours).python(SCRIPT, &["rows"], "").expect_success());
    for (table, theirs) in official["rows"].as_object().unwrap() {
        differences.extend(different_rows(table, &ours["rows"][table], theirs));
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

fn airflow(database: &TestDb) -> Airflow {
    Airflow::on(&database.url())
        .with("AIRFLOW__CORE__NUM_DAG_RUNS_TO_RETAIN_RENDERED_FIELDS", "3")
        .with("AIRFLOW__STATE_STORE__CLEAR_ON_SUCCESS", "True")
}

fn key(instance: &TaskInstance) -> Value {
    let key = &instance.key;
    json!({
        "dag_id": key.dag_id, "task_id": key.task_id, "run_id": key.run_id, "map_index": key.map_index,
        "try_number": instance.try_number,
    })
}

fn last_line<T: serde::de::DeserializeOwned>(output: &str) -> T {
    serde_json::from_str(output.lines().last().unwrap()).unwrap()
}

fn different_rows(table: &str, ours: &Value, theirs: &Value) -> Vec<String> {
    let (mut ours, mut theirs) = (ours.as_array().unwrap().clone(), theirs.as_array().unwrap().clone());
    ours.retain(|row| {
        let place = theirs.iter().position(|other| other == row);
        place.map(|place| theirs.remove(place)).is_none()
    });
    let show = |whose: &str, rows: Vec<Value>| {
        rows.into_iter().map(|row| format!("{table}: only {whose} {row}")).collect::<Vec<_>>()
    };
    [show("ours    ", ours), show("official", theirs)].concat()
}

async fn service(database: &TestDb) -> Service {
    Service {
        db: database.connect().await,
        fernet: Arc::new(Fernet::new("").unwrap()),
        environment: Arc::new(Environment::empty("/")),
        backend: None,
        timetables: None,
        rules: RULES,
    }
}

/// What our service answers, as the API would.
async fn answer(service: &Service, call: &Call) -> Value {
    let Call { operation, id, body, .. } = call;
    let answered = match *operation {
        "run" => {
            let context = service.run(*id, &read(body)).await;
            context.map(|context| (200, serde_json::to_value(context).unwrap()))
        }
        "state" => service.set_state(*id, &read(body)).await.map(|set| match set {
            StateSet::Changed => (204, Value::Null),
            StateSet::AlreadyThere => (200, Value::Null),
        }),
        "heartbeat" => service.heartbeat(*id, &read(body)).await.map(|()| (204, Value::Null)),
        "rtif" => {
            let message = json!({"message": "Rendered task instance fields successfully set"});
            // Airflow's API masks them by name, ours is given them so: its clients know more secrets than that.
            let mut fields = body.clone();
            Masker::new(MaskRules::default()).redact_json(&mut fields);
            service.rendered_fields(*id, &Json::from(fields)).await.map(|()| (201, message))
        }
        "rendered-map-index" => {
            let set = service.set_rendered_map_index(*id, body.as_str().unwrap()).await;
            set.map(|()| (204, Value::Null))
        }
        "skip-downstream" => {
            let tasks: Vec<_> = read(&body["tasks"]);
            service.skip_downstream(*id, &tasks).await.map(|()| (204, Value::Null))
        }
        "validate-inlets-and-outlets" => {
            let inactive = service.validate_inlets_and_outlets(*id).await;
            inactive.map(|inactive| (200, json!({"inactive_assets": inactive})))
        }
        "breadcrumbs" => service.task_breadcrumbs("fast", "two").await.map(|found| {
            let shown = found.into_iter().map(|one| {
                json!({
                    "task_id": one.task_id, "map_index": one.map_index, "state": one.state,
                    "operator": one.operator, "duration": one.duration,
                })
            });
            (200, json!({"breadcrumbs": shown.collect::<Vec<_>>()}))
        }),
        "start_date" => service
            .reschedule_start_date(*id)
            .await
            .map(|start| (200, json!(start.map(|start| start.to_string())))),
        other => panic!("no such call: {other}"),
    };
    comparable(match answered {
        Ok((status, body)) => json!({"status": status, "body": body}),
        Err(Refusal::Api { status, detail }) => json!({"status": status, "body": {"detail": detail}}),
        Err(other) => json!({"status": 500, "body": other.to_string()}),
    })
}

fn read<T: serde::de::DeserializeOwned>(body: &Value) -> T {
    serde_json::from_value(body.clone()).unwrap()
}

/// Lists that nobody orders are ordered.
fn comparable(mut answer: Value) -> Value {
    for list in ["/body/xcom_keys_to_clear", "/body/inactive_assets"] {
        if let Some(Value::Array(items)) = answer.pointer_mut(list) {
            items.sort_by_key(Value::to_string);
        }
    }
    answer
}
