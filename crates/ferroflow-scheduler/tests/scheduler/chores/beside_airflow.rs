//! What the chores leave behind is what those of Airflow's scheduler leave, but for what is listed here.

use std::collections::BTreeMap;

use ferroflow_scheduler::chores;
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Airflow, Server, TestDb};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::chores::world::{FERNET_KEY, Fake, context};

const SCRIPT: &str = "testdata/chores/chores.py";

ferroflow_testkit::on_every_database!(chores_leave_what_airflow_s_leave);

async fn chores_leave_what_airflow_s_leave(server: Server) {
    let (official, ours) = (TestDb::migrated(server).await, TestDb::migrated(server).await);
    let [of_official, of_ours] = [&official, &ours]
        .map(|database| Airflow::on(&database.url()).with("AIRFLOW__CORE__FERNET_KEY", FERNET_KEY));
    let folder = tempfile::tempdir().unwrap();
    let make = |airflow: &Airflow| {
        let told = airflow.python(SCRIPT, &["make", folder.path().to_str().unwrap()], "").expect_success();
        lines(&told, "{\"me\"")[0]["me"].as_i64().unwrap()
    };
    make(&of_official);
    of_official.python(SCRIPT, &["official"], "").expect_success();
    do_all(&ours, make(&of_ours)).await;
    let [mut official, mut ours] = [&of_official, &of_ours].map(dump);
    told_once(&mut official);
    for tables in [&mut official, &mut ours] {
        without_words(tables);
        if server == Server::MariaDb {
            // Airflow cannot look after assets there.
            tables.retain(|name, _| {
                !["asset_active", "asset_state_store", "dag_warning"].contains(&name.as_str())
            });
        }
    }
    for (table, rows) in &official {
        assert!(!rows.is_empty() || table == "hitl_detail_history", "{table}");
        assert_eq!(ours[table].len(), rows.len(), "{table}");
        let differences: Vec<String> =
            ours[table].iter().zip(rows).filter_map(|(row, expected)| difference(row, expected)).collect();
        assert!(differences.is_empty(), "{table}:\n{}", differences.join("\n"));
    }
}

/// The columns that differ, after what the row is of.
fn difference(ours: &Value, official: &Value) -> Option<String> {
    let columns = ours.as_object().unwrap().keys().filter(|column| ours[*column] != official[*column]);
    let told: Vec<String> =
        columns.map(|column| format!("  {column}: {} not {}", ours[column], official[column])).collect();
    let of = [&ours["run_id"], &ours["task_id"], &ours["event"]].map(ToString::to_string).join(" ");
    (!told.is_empty()).then(|| format!("{of}\n{}", told.join("\n")))
}

/// The chores, in the order of the script.
async fn do_all(database: &TestDb, me: i64) {
    let db = database.connect().await;
    let (cx, executors) = (context(&db, me), Fake::default().alone());
    let now = clock::now;
    chores::stale_connection_tests(&cx, now()).await.unwrap();
    chores::connection_tests(&cx, now(), &executors).await.unwrap();
    let found = chores::dead_schedulers(&cx, now()).await.unwrap();
    assert_eq!(found.given_up.len(), 1);
    chores::orphans(&cx, now(), &executors).await.unwrap();
    chores::heartbeats(&cx, now(), Timestamp::UNIX_EPOCH, &Fake::default().alone()).await.unwrap();
    chores::stuck_tasks(&cx, now(), &executors).await.unwrap();
    chores::deferred(&cx, now()).await.unwrap();
    chores::awaiting_input(&cx, now()).await.unwrap();
    chores::backfills(&cx, now()).await.unwrap();
    chores::assets(&cx, now()).await.unwrap();
    chores::deadlines(&cx, now()).await.unwrap();
    chores::triggers(&cx).await.unwrap();
}

type Tables = BTreeMap<String, Vec<Value>>;

fn dump(airflow: &Airflow) -> Tables {
    let told = airflow.python(SCRIPT, &["dump"], "").expect_success();
    let tables = lines(&told, "{\"table\"");
    let name = |table: &Value| table["table"].as_str().unwrap().to_owned();
    tables.iter().map(|table| (name(table), table["rows"].as_array().unwrap().clone())).collect()
}

/// Airflow logs among the lines.
fn lines(output: &str, beginning: &str) -> Vec<Value> {
    let lines = output.lines().filter(|line| line.starts_with(beginning));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Airflow tells of a heartbeat that is missing twice, the first time whether anybody wants to know or not.
fn told_once(official: &mut Tables) {
    let callbacks = official.get_mut("callback").unwrap();
    let told = callbacks.len();
    let message = |row: &Value| row["data"]["__var"]["req_data"]["msg"].as_str().map(str::to_owned);
    callbacks.retain(|row| message(row).is_none_or(|message| !message.starts_with("{'DAG Id'")));
    assert_eq!(told - callbacks.len(), 4);
}

/// Explanations are in our own words, but for warnings, which people know.
fn without_words(tables: &mut Tables) {
    let others = tables.iter_mut().filter(|(table, _)| *table != "dag_warning");
    for row in others.flat_map(|(_, rows)| rows) {
        for column in ["message", "extra", "result_message"] {
            if row[column].is_string() {
                row[column] = json!("some words");
            }
        }
        for place in ["/data/__var/req_data/msg", "/next_kwargs/event/error", "/next_kwargs/error"] {
            if let Some(words @ Value::String(_)) = row.pointer_mut(place)
                && words != "Trigger timeout"
            {
                *words = json!("some words");
            }
        }
        if let Some(traceback) = row.pointer_mut("/next_kwargs/traceback") {
            *traceback = json!([]);
        }
    }
    // The order of rows of one moment.
    for table in ["callback", "trigger", "log"] {
        tables.get_mut(table).unwrap().sort_by_key(Value::to_string);
    }
}
