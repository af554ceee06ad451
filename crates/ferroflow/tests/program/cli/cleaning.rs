//! What `ferroflow db clean` does otherwise than Airflow's, and what becomes of it when it is interrupted.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use ferroflow_db::{ScopedFutureExt as _, task_instance};
use ferroflow_testkit::Server;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cli::site::{Site, recording};

const SERVERS: [Server; 3] = [Server::Sqlite, Server::Postgres, Server::MariaDb];
const CLEAN: [&str; 5] = ["db", "clean", "--clean-before-timestamp", "2020-02-01", "--yes"];

async fn site(server: Server) -> Site {
    let site = Site::on(server).await;
    site.put(&recording()["prepared"]["history"]).await;
    site
}

/// Airflow's command makes a table of each batch, and needs a batch size to have batches at all.
#[tokio::test]
async fn however_many_batches_there_are_old_rows_are_in_one_table() {
    for server in SERVERS {
        let site = site(server).await;
        let told = site.run(&[&CLEAN[..], &["-t", "xcom", "--batch-size", "2", "-v"]].concat());
        assert_eq!(told.code, Some(0), "{}", told.stderr);
        let kept = told.stdout.lines().filter(|line| line.starts_with("Moving data to table")).count();
        assert_eq!(kept, 1, "{server:?}: {}", told.stdout);
        assert!(told.stderr.matches("xcom: 2 rows deleted, 0 in use").count() > 10, "{}", told.stderr);
    }
}

/// There are XComs in them.
#[tokio::test]
async fn exported_rows_are_for_nobody_else_to_read() {
    let site = site(Server::Sqlite).await;
    site.run(&[&CLEAN[..], &["-t", "xcom"]].concat()).expect_success();
    let home = site.program.home();
    site.run(&["db", "export-archived", "--output-path", home.to_str().unwrap()]).expect_success();
    let files = std::fs::read_dir(home).unwrap().map(|file| file.unwrap().path());
    let exported: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "csv")).collect();
    assert!(exported.iter().any(|path| path.to_str().unwrap().contains("_xcom_")), "{exported:?}");
    for path in &exported {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
}

/// Airflow's command ends with an error of the database, and has cleaned no table that comes after.
#[tokio::test]
async fn what_others_refer_to_stays_without_an_error() {
    for server in SERVERS {
        let site = site(server).await;
        let old = if server == Server::Postgres { "2020-01-05 00:00:00+00" } else { "2020-01-05 00:00:00" };
        site.database
            .execute(format!(
                "UPDATE callback SET trigger_id = 1000; \
                 UPDATE dag SET last_parsed_time = '{old}' WHERE dag_id IN ('cluster', 'two_b')"
            ))
            .await;
        let told = site.run(&[&CLEAN[..], &["-t", "trigger,dag", "--error-on-cleanup-failure"]].concat());
        assert_eq!(told.code, Some(0), "{server:?}: {}", told.stderr);
        let triggers = site.rows("trigger", &json!([["id", "INTEGER"]])).await;
        assert!(triggers.contains(&json!(["1000"])) && !triggers.contains(&json!(["1001"])), "{triggers:?}");
        let dags = site.rows("dag", &json!([["dag_id", "TEXT"]])).await;
        assert!(dags.contains(&json!(["cluster"])) && !dags.contains(&json!(["two_b"])), "{dags:?}");
    }
}

/// Airflow's command asks tables for a column that they do not have, and leaves them alone.
#[tokio::test]
async fn rows_of_dags_are_found_where_the_table_does_not_name_the_dag() {
    for server in SERVERS {
        let site = site(server).await;
        let told =
            site.run(&[&CLEAN[..], &["-t", "asset_event,deadline", "--dag-ids", "intervals"]].concat());
        assert_eq!(told.code, Some(0), "{server:?}: {}", told.stderr);
        let events = site.rows("asset_event", &json!([["source_dag_id", "TEXT"]])).await;
        let of = |dag_id: &str| events.iter().filter(|row| row[0] == dag_id).count();
        assert_eq!((of("intervals"), of("daily")), (2, 4), "{server:?}: {events:?}");
        let deadlines = site.rows("deadline", &json!([["created_at", "TIMESTAMP"]])).await;
        assert_eq!(deadlines.len(), 2, "{server:?}: {deadlines:?}");
    }
}

/// Rows that somebody holds are left to them; nobody waits.
#[tokio::test]
async fn rows_that_are_in_use_stay() {
    let held = &expected("dag_run")[0][0];
    let id: i64 = held.as_str().unwrap().parse().unwrap();
    for server in [Server::Postgres, Server::MariaDb] {
        let site = site(server).await;
        let db = site.database.connect().await;
        let program = &site;
        let told = db.transact(|tx| {
            async move {
                task_instance::clear::lock_run(tx, id).await?;
                Ok(program.run(&[&CLEAN[..], &["-t", "dag_run"]].concat()))
            }
            .scope_boxed()
        });
        let told = told.await.unwrap();
        assert_eq!(told.code, Some(0), "{server:?}: {}", told.stderr);
        assert!(told.stderr.contains("1 rows were in use and stay"), "{server:?}: {}", told.stderr);
        db.close().await;
        let left = |rows: &[Value]| rows.iter().any(|row| row[0] == *held);
        assert!(left(&site.rows("dag_run", &json!([["id", "INTEGER"]])).await), "{server:?}");
        site.run(&[&CLEAN[..], &["-t", "dag_run"]].concat()).expect_success();
        assert!(!left(&site.rows("dag_run", &json!([["id", "INTEGER"]])).await), "{server:?}");
    }
}

/// What Airflow's command was seen to keep of the old rows of a table.
fn expected(table: &str) -> &'static Vec<Value> {
    let scenarios = recording()["scenarios"].as_array().unwrap();
    let is_whole = |scenario: &&Value| scenario["name"] == "db clean --clean-before-timestamp 2020-02-01";
    scenarios.iter().find(is_whole).unwrap()["archived"][table]["rows"].as_array().unwrap()
}

/// Whenever it is interrupted, politely or not: every old row is in its table or in that for old rows, and the same
/// command goes on to the same end.
#[tokio::test]
async fn interrupted_at_any_time_nothing_is_lost_and_it_can_go_on() {
    let columns = json!([["dag_run_id", "INTEGER"], ["task_id", "TEXT"], ["key", "TEXT"]]);
    for server in SERVERS {
        let site = site(server).await;
        let all = sorted(site.rows("xcom", &columns).await);
        for signal in [Signal::INT, Signal::KILL, Signal::INT] {
            let mut running = start(&site, &["-t", "xcom", "--batch-size", "1"]);
            wait_for_a_change(&site, &columns, all.len()).await;
            kill_process(Pid::from_child(&running), signal).unwrap();
            running.wait().unwrap();
            let together =
                [site.rows("xcom", &columns).await, site.archived("xcom", &columns).await].concat();
            assert_eq!(sorted(together), all, "{server:?}: {signal:?}");
        }
        site.run(&[&CLEAN[..], &["-t", "xcom"]].concat()).expect_success();
        let (left, kept) = (site.rows("xcom", &columns).await, site.archived("xcom", &columns).await);
        assert_eq!(sorted([left.clone(), kept].concat()), all, "{server:?}");
        assert_eq!(all.len() - left.len(), expected("xcom").len(), "{server:?}");
    }
}

fn start(site: &Site, more: &[&str]) -> Child {
    let mut command = site.program.command(&[&CLEAN[..], more].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until a row has gone, or nothing is left to go.
async fn wait_for_a_change(site: &Site, columns: &Value, all: usize) {
    let before = site.rows("xcom", columns).await.len();
    for _ in 0..2000 {
        let now = site.rows("xcom", columns).await.len();
        if now < before || now < all - 25 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no row has gone");
}

fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(Value::to_string);
    rows
}
