//! Deadline references that somebody wrote in Python: what they say is what they say to Airflow's own scheduler, and a bad
//! one costs its own deadline alone.

use std::collections::BTreeMap;
use std::time::Duration;

use ferroflow_testkit::Server;
use serde_json::Value;

use crate::on_every_database;
use crate::site::{Site, make_runs};

on_every_database!(references_say_what_they_say_to_airflow);

async fn references_say_what_they_say_to_airflow(server: Server) {
    let steps = ["deadlines", "schedule", "dump_deadlines"];
    let official = Site::new(server, None).await.official(&steps).remove(0);
    let ours = Site::new(server, None).await;
    ours.official(&["deadlines"]);
    let created = make_runs(&ours.scheduler(Duration::from_mins(2)).await).await;
    let [run] = created.created.as_slice() else { panic!("{created:?}") };
    assert_eq!((run.deadlines, run.missing_deadlines.as_slice()), (3, [].as_slice()));
    let rows = ours.official(&["dump_deadlines"]).remove(0);
    assert_eq!(rows, official);
    let times: Vec<&str> = rows.iter().map(|row| row["deadline_time"].as_str().unwrap()).collect();
    let expected = ["2024-01-01T01:10:00+00:00", "2024-05-01T05:11:00+00:00", "2024-01-01T00:13:00+00:00"];
    assert_eq!(times, expected);
}

#[tokio::test]
async fn a_bad_reference_costs_its_own_deadline_alone() {
    let site = Site::new(Server::Sqlite, None).await;
    site.official(&["bad_deadlines"]);
    let cx = site.scheduler(Duration::from_secs(20)).await;
    let created = make_runs(&cx).await;
    let problems: BTreeMap<&str, String> =
        created.created.iter().map(|run| (run.dag_id.as_str(), run.missing_deadlines.join(" "))).collect();
    assert_eq!(problems.keys().copied().collect::<Vec<_>>(), ["exits", "hangs", "odd", "raises"]);
    assert!(problems["raises"].contains("RuntimeError: the reference is broken"), "{problems:?}");
    // The reference is the same for all: who comes after one that cost a process may find it left alone.
    for dag_id in ["hangs", "exits"] {
        let is_told =
            ["gave no answer within 20s", "ended while it was asked: exit code 3", "is asked again in"]
                .iter()
                .any(|reason| problems[dag_id].contains(reason));
        assert!(is_told, "{problems:?}");
    }
    assert!(!problems["odd"].is_empty(), "{problems:?}");
    let rows = site.official(&["dump_deadlines"]).remove(0);
    let kept: Vec<&Value> = rows.iter().map(|row| &row["dag_id"]).collect();
    assert_eq!(kept, ["exits", "hangs", "odd", "raises"], "each has its good one");
}
