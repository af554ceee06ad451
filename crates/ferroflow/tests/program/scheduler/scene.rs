//! DAGs whose tasks write down that they ran, and the rows beside that.

use std::collections::BTreeMap;
use std::net::TcpListener;

use ferroflow_db::testing;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::scheduler::FERROFLOW;

/// All runs with their states.
const RUNS: &str = "SELECT CONCAT(dag_id, ' ', state) AS answer FROM dag_run ORDER BY dag_id, id";

/// What every DAG file begins with. `note` tells that a try began or ended, in one line of one file.
const BEGINNING: &str = "\
import os
import time
from datetime import datetime, timedelta

from airflow.sdk import DAG, Asset, get_current_context, task

NOTES = {notes}


def wait_for(name):
    while not os.path.exists(f'{NOTES}.{name}'):
        time.sleep(0.05)


def note(what):
    ti = get_current_context()['ti']
    line = f'{ti.dag_id} {ti.task_id} {ti.map_index} {ti.try_number} {what}\\n'
    with open(NOTES, 'a') as notes:
        notes.write(line)

";

/// A place with DAG files that are stored and not paused.
pub(crate) async fn scene(server: Server, dags: &str) -> Place {
    scene_with(server, dags, &[]).await
}

/// The same with other settings.
pub(crate) async fn scene_with(server: Server, dags: &str, settings: &[(&str, &str)]) -> Place {
    let place = Place::on(server)
        .await
        .with("AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION", "False")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC", "1")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "5");
    let place = settings.iter().fold(place, |place, (variable, value)| place.with(variable, value));
    store(&place, dags);
    place
}

/// Stores the DAG files, in the place of those that are there.
pub(crate) fn store(place: &Place, dags: &str) {
    let notes = format!("'{}'", place.root().join("notes").display());
    place.write("dags.py", format!("{}{dags}", BEGINNING.replace("{notes}", &notes)));
    place.process_once(FERROFLOW);
}

/// Lets the tasks go on that wait for a name.
pub(crate) fn let_go(place: &Place, name: &str) {
    std::fs::write(place.root().join(format!("notes.{name}")), "").unwrap();
}

/// How often each try was noted to begin and to end: `dag task map_index try_number`.
pub(crate) fn notes(place: &Place) -> BTreeMap<String, (u32, u32)> {
    let mut found: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for line in std::fs::read_to_string(place.root().join("notes")).unwrap_or_default().lines() {
        let (what_of, what) = line.rsplit_once(' ').unwrap();
        let counts = found.entry(what_of.to_owned()).or_default();
        match what {
            "begins" => counts.0 += 1,
            "ends" => counts.1 += 1,
            other => panic!("{other} is noted"),
        }
    }
    found
}

/// Waits until so many runs have ended, and returns all runs with their states.
pub(crate) async fn wait_for_runs(place: &Place, count: usize, seconds: u32) -> Vec<String> {
    let db = place.db().connect().await;
    let mut runs = Vec::new();
    for _ in 0..seconds * 4 {
        runs = testing::texts(&db, RUNS).await.unwrap();
        let is_over = |run: &String| run.ends_with("success") || run.ends_with("failed");
        if runs.len() >= count && runs.iter().all(is_over) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    }
    db.close().await;
    runs
}

/// One that nobody listens at.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
