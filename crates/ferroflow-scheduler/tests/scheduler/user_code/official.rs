//! Task instances that user code has a say about are those of Airflow's own scheduler: when runs are made, when mapped
//! tasks are expanded, and when a DAG changes.

use std::time::Duration;

use ferroflow_testkit::Server;
use serde_json::Value;

use crate::user_code::site::{Site, examine, make_runs};

ferroflow_testkit::on_every_database!(
    weight_rules_say_what_they_say_to_airflow,
    a_hook_changes_what_it_changes_with_airflow
);

async fn weight_rules_say_what_they_say_to_airflow(server: Server) {
    let rows = both(server, None).await;
    let weights: Vec<i64> = rows
        .iter()
        .filter(|row| row["task_id"] == "later")
        .map(|row| row["priority_weight"].as_i64().unwrap())
        .collect();
    assert_eq!(weights, [102, 302, 402], "the first is from when nobody knew how many there would be");
}

async fn a_hook_changes_what_it_changes_with_airflow(server: Server) {
    let rows = both(server, Some("hook")).await;
    let is_hooked = |row: &&Value| row["task_id"].as_str().unwrap().starts_with("hooked");
    let (hooked, others): (Vec<_>, Vec<_>) = rows.iter().partition(is_hooked);
    assert!(hooked.iter().all(|row| row["executor"] == "some.Executor" && row["pool_slots"] == 2));
    assert!(others.iter().all(|row| row["executor"].is_null() && row["pool"] == "default_pool"));
}

/// Goes through the life of runs with the official scheduler and with ours.
async fn both(server: Server, hook: Option<&str>) -> Vec<Value> {
    let steps = ["first", "schedule", "finish", "examine", "dump", "changed", "examine", "dump"];
    let [expanded, changed] = Site::new(server, hook).await.official(&steps).try_into().unwrap();

    let ours = Site::new(server, hook).await;
    ours.official(&["first"]);
    let cx = ours.scheduler(Duration::from_mins(2)).await;
    let created = make_runs(&cx).await;
    assert!(created.refused.is_empty(), "{created:?}");
    ours.official(&["finish"]);
    examine(&cx, "shaped").await.unwrap();
    compare(&ours.official(&["dump", "changed"])[0], &expanded);
    examine(&cx, "shaped").await.unwrap();
    let rows = ours.official(&["dump"]).remove(0);
    compare(&rows, &changed);
    rows
}

fn compare(ours: &[Value], official: &[Value]) {
    for (ours, official) in ours.iter().zip(official) {
        assert_eq!(ours, official);
    }
    assert_eq!(ours.len(), official.len());
}
