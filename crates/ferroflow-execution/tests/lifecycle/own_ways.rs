//! Where we do otherwise than Airflow, on purpose.

use ferroflow_db::task_instance::{self, TaskInstance};
use ferroflow_db::{Db, ScopedFutureExt as _, audit_log};
use ferroflow_execution::api::{EnterRunning, StateUpdate};
use ferroflow_execution::task_instance::StateSet;
use ferroflow_execution::{Rules, Service};
use ferroflow_model::state::TaskState;
use ferroflow_testkit::Server;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::seed::{THEN, instance, seeded};
use crate::{RULES, service};

#[tokio::test]
async fn a_task_is_told_the_note_of_its_run() {
    let queued = instance(0, "run", Some(TaskState::Queued));
    for server in Server::ALL {
        let database = seeded(server, std::slice::from_ref(&queued)).await;
        for statement in [
            "INSERT INTO dag_run_note (dag_run_id, content, created_at, updated_at) SELECT id, 'a note', \
             '2023-01-01 00:00:00', '2023-01-01 00:00:00' FROM dag_run WHERE run_id = 'run' AND dag_id = 'dag'",
            "INSERT INTO team (name) VALUES ('a team')",
            "INSERT INTO dag_bundle_team (dag_bundle_name, team_name) VALUES ('dags-folder', 'a team')",
        ] {
            database.execute(statement).await;
        }
        let alone = service(&database).await;
        let teams = Service { rules: Rules { multi_team: true, ..RULES }, ..alone.clone() };
        let started = EnterRunning {
            hostname: "host".to_owned(),
            unixname: "user".to_owned(),
            pid: 1,
            start_date: THEN,
        };
        let told = alone.run(queued.instance.id, &started).await.unwrap().dag_run;
        assert_eq!((told.note.as_deref(), told.team_name), (Some("a note"), None));
        let told = teams.run(queued.instance.id, &started).await.unwrap().dag_run;
        assert_eq!(told.team_name.as_deref(), Some("a team"));
    }
}

#[tokio::test]
async fn what_fail_fast_stops_has_an_end() {
    let [failing, running] = [(0, "t"), (1, "next")].map(|(number, task_id)| {
        let mut seeded = instance(number, "one", Some(TaskState::Running));
        let key = &mut seeded.instance.key;
        (key.dag_id, key.task_id) = ("fast".to_owned(), task_id.to_owned());
        seeded
    });
    let database = seeded(Server::Sqlite, &[failing.clone(), running.clone()]).await;
    let service = service(&database).await;
    let failed = told(json!({"state": "failed", "end_date": THEN.to_string()}));
    assert_eq!(service.set_state(failing.instance.id, &failed).await.unwrap(), StateSet::Changed);
    let stopped = find(&service.db, running.instance.id).await;
    assert_eq!(stopped.state, Some(TaskState::Failed));
    assert!(stopped.end_date.is_some() && stopped.duration.is_some());
}

#[tokio::test]
async fn of_what_nobody_wanted_any_more_only_the_cleared_begins_anew() {
    let states = [TaskState::Restarting, TaskState::Running, TaskState::Success, TaskState::Failed];
    let instances: Vec<_> =
        states.into_iter().zip(0..).map(|(state, number)| instance(number, "run", Some(state))).collect();
    for server in Server::ALL {
        let database = seeded(server, &instances).await;
        let service = service(&database).await;
        for (state, seeded) in states.into_iter().zip(&instances) {
            let TaskInstance { id, try_number, ref key, .. } = seeded.instance;
            service.ended_unwanted(key, try_number).await.unwrap();
            let expected = (state != TaskState::Restarting).then_some(state);
            assert_eq!(find(&service.db, id).await.state, expected, "{server:?}");
        }
        let mut unknown = instances[0].instance.key.clone();
        unknown.map_index = 99;
        service.ended_unwanted(&unknown, 1).await.unwrap();
    }
}

#[tokio::test]
async fn a_consumer_that_cannot_be_read_does_not_fail_the_producer() {
    let running = instance(0, "run", Some(TaskState::Running));
    let database = seeded(Server::Sqlite, std::slice::from_ref(&running)).await;
    database.execute("DELETE FROM serialized_dag WHERE dag_id = 'keys'").await;
    let service = service(&database).await;
    let key = json!({"name": "keyed", "uri": "s3://keyed"});
    let success = told(json!({
        "state": "success", "end_date": THEN.to_string(),
        "task_outlets": [{"name": "keyed", "uri": "s3://keyed", "type": "Asset"}],
        "outlet_events": [{"dest_asset_key": key, "extra": {}, "partition_key": "2023-11-14T05"}],
    }));
    assert_eq!(service.set_state(running.instance.id, &success).await.unwrap(), StateSet::Changed);
    assert_eq!(find(&service.db, running.instance.id).await.state, Some(TaskState::Success));
    let key = &running.instance.key;
    let noted = service.db.read(|tx| {
        async move { audit_log::newest(tx, key, 1, "failed to map partition_key").await }.scope_boxed()
    });
    let extra = noted.await.unwrap().unwrap().extra.unwrap();
    assert!(extra.ends_with("for DAG 'keys' cannot be mapped: the DAG is not stored"), "{extra}");
}

fn told(update: Value) -> StateUpdate {
    serde_json::from_value(update).unwrap()
}

async fn find(db: &Db, id: Uuid) -> TaskInstance {
    let found = db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed());
    found.await.unwrap().unwrap()
}
