//! What the requests are about: two runs of a DAG, with instances, XComs and secrets.

use ferroflow_db::connection::{self, Connection};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::variable::{self, Variable};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_testkit::rows::{add_dag, add_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";
const OTHER_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
pub(crate) const DAY_1: Timestamp = Timestamp::constant(1_700_000_000, 0);

pub(crate) fn instance_id(run: u128, number: u128) -> Uuid {
    Uuid::from_u128(run * 100 + number)
}

pub(crate) async fn seeded(server: Server) -> TestDb {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    database.execute("INSERT INTO team (name) VALUES ('team')").await;
    db.transact(|tx| async move { seed(tx).await }.scope_boxed()).await.unwrap();
    let quote = if server == Server::MariaDb { '`' } else { '"' };
    for (task, index, value) in [
        ("one", -1, r#"{"run": 1, "index": -1}"#),
        ("mapped", 0, "0"),
        ("mapped", 1, "1.5"),
        ("mapped", 2, r#""two""#),
        ("mapped", 3, "3"),
        ("mapped", 4, "4"),
    ] {
        let insert = format!(
            "INSERT INTO xcom (dag_run_id, task_id, map_index, {quote}key{quote}, dag_id, run_id, value, \
             {quote}timestamp{quote}) SELECT id, '{task}', {index}, 'key', dag_id, run_id, '{value}', \
             '2026-01-01 00:00:00' FROM dag_run WHERE run_id = 'run 1'"
        );
        database.execute(insert).await;
    }
    db.close().await;
    database
}

async fn seed(tx: &mut Tx) -> Result<(), Error> {
    let fernet = &Fernet::new(KEY).unwrap();
    for (key, val, team_name) in [
        ("a_1", "one", None),
        ("a_2", "two", None),
        ("a_3", "three", None),
        ("ab", "four", None),
        ("a/b", "five", None),
        ("empty", "", None),
        ("of team", "six", Some("team")),
    ] {
        variable::set(tx, fernet, &a_variable(key, val, team_name), DAY_1).await?;
    }
    let lost = a_variable("undecipherable", "x", None);
    variable::set(tx, &Fernet::new(OTHER_KEY).unwrap(), &lost, DAY_1).await?;
    seed_connections(tx, fernet).await?;
    seed_dag(tx).await?;
    seed_run(tx, 1, RunState::Success, TaskState::Success).await?;
    seed_run(tx, 2, RunState::Failed, TaskState::Failed).await
}

fn a_variable(key: &str, val: &str, team_name: Option<&str>) -> Variable {
    Variable {
        key: key.to_owned(),
        val: val.to_owned(),
        description: None,
        team_name: team_name.map(str::to_owned),
    }
}

async fn seed_connections(tx: &mut Tx, fernet: &Fernet) -> Result<(), Error> {
    let plain = Connection {
        conn_id: "plain".to_owned(),
        conn_type: "http".to_owned(),
        description: None,
        host: None,
        schema: None,
        login: None,
        password: None,
        port: None,
        extra: None,
        team_name: None,
    };
    let full = Connection {
        conn_id: "full".to_owned(),
        host: Some("host".to_owned()),
        schema: Some("schema".to_owned()),
        login: Some("login".to_owned()),
        password: Some("pässword".to_owned()),
        port: Some(5432),
        extra: Some(r#"{"a": [1]}"#.to_owned()),
        ..plain.clone()
    };
    let bad_extra =
        Connection { conn_id: "bad_extra".to_owned(), extra: Some("[1]".to_owned()), ..plain.clone() };
    let lost = Connection { conn_id: "undecipherable".to_owned(), ..full.clone() };
    for connection in [&plain, &full, &bad_extra] {
        connection::insert(tx, fernet, connection, DAY_1).await?;
    }
    connection::insert(tx, &Fernet::new(OTHER_KEY).unwrap(), &lost, DAY_1).await
}

async fn seed_dag(tx: &mut Tx) -> Result<(), Error> {
    add_dag(tx, "dag").await?;
    let version = NewDagVersion {
        dag_id: "dag".to_owned(),
        bundle_name: Some("dags-folder".to_owned()),
        bundle_version: None,
        version_data: None,
    };
    let dag_version_id = dag_version::insert(tx, &version, DAY_1).await?;
    let dag = NewSerializedDag {
        dag_id: "dag".to_owned(),
        dag_version_id,
        dag_hash: "0".repeat(32),
        data: Json::from(a_serialized_dag()),
    };
    serialized_dag::insert(tx, &dag, false, DAY_1).await?;
    Ok(())
}

/// The second run has nothing in the group.
async fn seed_run(tx: &mut Tx, number: u8, state: RunState, of_one: TaskState) -> Result<(), Error> {
    let run_id = format!("run {number}");
    let date = DAY_1 + (i64::from(number - 1) * 24).hours();
    let id = add_run(tx, "dag", &run_id, date).await?;
    dag_run::set_state(tx, id, RunState::Queued, RunState::Running, date).await?;
    dag_run::set_state(tx, id, RunState::Running, state, date + 1.hour()).await?;
    let mut instances = vec![("one", -1, Some(of_one)), ("mapped", 0, Some(TaskState::Running))];
    instances.extend((1..5).map(|index| ("mapped", index, None)));
    if number == 1 {
        instances.push(("group.inner", -1, Some(TaskState::Success)));
    }
    for (place, (task_id, map_index, state)) in (0..).zip(instances) {
        let key = TaskInstanceKey {
            dag_id: "dag".to_owned(),
            run_id: run_id.clone(),
            task_id: task_id.to_owned(),
            map_index,
        };
        let instance = TaskInstance {
            state,
            start_date: Some(date),
            duration: Some(1.5),
            try_number: 2,
            ..TaskInstance::new(instance_id(number.into(), place), key, date)
        };
        task_instance::insert(tx, &instance).await?;
    }
    Ok(())
}

/// A DAG with a task in a group.
fn a_serialized_dag() -> Value {
    let task = |task_id: &str| {
        json!({"__type": "operator", "__var": {
            "task_id": task_id, "task_type": "EmptyOperator",
            "_task_module": "airflow.providers.standard.operators.empty",
            "downstream_task_ids": [], "template_fields": [], "template_ext": [], "template_fields_renderers": {},
            "ui_color": "#fff", "ui_fgcolor": "#000", "_needs_expansion": false,
        }})
    };
    let group = |id: Value, children: Value| {
        json!({
            "_group_id": id, "group_display_name": "", "prefix_group_id": true, "children": children,
            "tooltip": "", "ui_color": "CornflowerBlue", "ui_fgcolor": "#000", "upstream_group_ids": [],
            "downstream_group_ids": [], "upstream_task_ids": [], "downstream_task_ids": [],
        })
    };
    let inner = group(json!("group"), json!({"group.inner": ["operator", "group.inner"]}));
    let children =
        json!({"one": ["operator", "one"], "mapped": ["operator", "mapped"], "group": ["taskgroup", inner]});
    json!({
        "__version": 3,
        "dag": {
            "dag_id": "dag", "fileloc": "/dags/dag.py", "relative_fileloc": "dag.py", "timezone": "UTC",
            "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
            "tasks": [task("one"), task("mapped"), task("group.inner")], "dag_dependencies": [],
            "params": [], "edge_info": {}, "task_group": group(Value::Null, children), "catchup": false,
        },
    })
}
