//! The rows of runs that are made and started are those of Airflow's own scheduler.

use std::collections::BTreeMap;

use ferroflow_db::{ScopedFutureExt as _, dag_bundle};
use ferroflow_execution::Host;
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Airflow, Server, TestDb};
use serde_json::Value;

use crate::runs::place::{Place, create_all, start_all};

const SCRIPT: &str = "testdata/runs/official_scheduler.py";

ferroflow_testkit::on_every_database!(rows_are_those_of_the_official_scheduler);

async fn rows_are_those_of_the_official_scheduler(server: Server) {
    let (official, _) = stored(server).await;
    let airflow = Airflow::on(&official.database.url());
    airflow.python(SCRIPT, &["schedule"], "").expect_success();
    let expected = dump(&airflow);

    let (ours, airflow) = stored(server).await;
    let mut cx = ours.scheduler().await;
    cx.run_settings.unixname = Host::of(&ferroflow_config::Environment::from_process()).user;
    create_all(&cx, clock::now()).await;
    start_all(&cx, clock::now()).await;
    let made = dump(&airflow);
    for (table, expected) in &expected {
        let (expected, made) = (expected.as_array().unwrap(), made[table].as_array().unwrap());
        assert!(!expected.is_empty() || table == "asset_dag_run_queue", "{table}");
        for (expected, made) in expected.iter().zip(made) {
            assert_eq!(made, expected, "{table}");
        }
        assert_eq!(made.len(), expected.len(), "{table}");
    }
}

/// A database with DAGs and changes of assets, as Airflow stores them.
async fn stored(server: Server) -> (Place, Airflow) {
    let (database, folder) = (TestDb::migrated(server).await, tempfile::tempdir().unwrap());
    let db = database.connect().await;
    db.transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
        .await
        .unwrap();
    let airflow = Airflow::on(&database.url());
    airflow.python(SCRIPT, &["store", folder.path().to_str().unwrap()], "").expect_success();
    (Place { database, db }, airflow)
}

fn dump(airflow: &Airflow) -> BTreeMap<String, Value> {
    let output = airflow.python(SCRIPT, &["dump"], "").expect_success();
    let lines = output.lines().filter(|line| line.starts_with("{\"table\""));
    let mut tables: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in tables.iter_mut().flat_map(|table| table["rows"].as_array_mut().unwrap()) {
        // Airflow does not count runs that assets ask for into the flag.
        if row["dag_id"] == "on_x_full" {
            row.as_object_mut().unwrap().remove("exceeds_max_non_backfill");
        }
    }
    tables
        .into_iter()
        .map(|table| (table["table"].as_str().unwrap().to_owned(), table["rows"].clone()))
        .collect()
}
