//! The rows of new runs are those that Airflow writes.

use ferroflow_db::{Db, ScopedFutureExt as _, dag_bundle};
use ferroflow_execution::Host;
use ferroflow_model::timetable::DataInterval;
use ferroflow_operations::dag_run::create::{NewRun, create};
use ferroflow_scheduler::Error;
use ferroflow_scheduler::run::Definition;
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Airflow, Server, TestDb};
use jiff::Timestamp;
use serde_json::Value;

use crate::beside_airflow::SCRIPT;

#[tokio::test]
async fn on_sqlite() {
    runs_are_airflows(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    runs_are_airflows(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    runs_are_airflows(Server::MariaDb).await;
}

async fn runs_are_airflows(server: Server) {
    let (database, folder) = (TestDb::migrated(server).await, tempfile::tempdir().unwrap());
    let db = database.connect().await;
    db.transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
        .await
        .unwrap();
    let airflow = Airflow::on(&database.url());
    let made = airflow.python(SCRIPT, &["make", folder.path().to_str().unwrap()], "").expect_success();
    let made = lines(&made, "{\"dag_id\"");
    assert_eq!(made.len(), 5);
    for official in &made {
        make(&db, official).await;
    }
    let ours = airflow.python(SCRIPT, &["dump"], "").expect_success();
    let ours = lines(&ours, "{\"rows\"");
    assert_eq!(ours.len(), made.len());
    for (official, ours) in made.iter().zip(&ours) {
        let (official_rows, our_rows) = (&official["rows"], &ours["rows"]);
        for table in ["dag_run", "task_instance", "dag_run_note"] {
            assert_eq!(our_rows[table], official_rows[table], "{} {table}", official["dag_id"]);
        }
    }
}

/// Airflow logs among the lines.
fn lines(output: &str, beginning: &str) -> Vec<Value> {
    output
        .lines()
        .filter(|line| line.starts_with(beginning))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn make(db: &Db, official: &Value) {
    let (dag_id, run) = (official["dag_id"].as_str().unwrap(), &official["run"]);
    let text = |key: &str| run[key].as_str().map(str::to_owned);
    let time = |value: &Value| value.as_str().map(|text| text.parse::<Timestamp>().unwrap());
    let new = &NewRun {
        dag_id: dag_id.to_owned(),
        run_id: text("run_id").unwrap(),
        run_type: text("run_type").unwrap().parse().unwrap(),
        logical_date: time(&run["logical_date"]),
        data_interval: time(&run["data_interval"][0])
            .zip(time(&run["data_interval"][1]))
            .map(|(start, end)| DataInterval { start, end }),
        run_after: time(&run["run_after"]).unwrap(),
        state: text("state").unwrap().parse().unwrap(),
        start_date: time(&run["start_date"]),
        conf: run["conf"].as_object().cloned(),
        triggered_by: text("triggered_by").unwrap().to_uppercase().parse().unwrap(),
        triggering_user_name: text("triggering_user_name"),
        note: text("note"),
        partition_key: text("partition_key"),
        partition_date: None,
        backfill_id: None,
        creating_job_id: run["creating_job_id"].as_i64(),
        bundle_version: None,
        unixname: Host::of(&ferroflow_config::Environment::from_process()).user,
    };
    let made = db.transact(|tx| {
        async move {
            let definition = Definition::latest(tx, dag_id).await.unwrap();
            let made = create(tx, definition.dag(), &definition.version, new, clock::now()).await;
            Error::split(made.map_err(Error::from))
        }
        .scope_boxed()
    });
    made.await.unwrap().unwrap();
}
