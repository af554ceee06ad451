//! Deadline references that somebody wrote in Python: what they say is what they say to Airflow's own scheduler, and a bad
//! one costs its own deadline alone.

use std::collections::BTreeMap;
use std::time::Duration;

use ferroflow_scheduler::scheduler::Loops;
use ferroflow_testkit::Server;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::user_code::hanging::{scheduler, until};
use crate::user_code::site::{Site, make_runs};

ferroflow_testkit::on_every_database!(references_say_what_they_say_to_airflow);

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
    assert_eq!(problems.keys().copied().collect::<Vec<_>>(), ["exits", "fine", "hangs", "odd", "raises"]);
    assert!(problems["raises"].contains("RuntimeError: the reference is broken"), "{problems:?}");
    assert!(problems["hangs"].contains("gave no answer within 20s"), "{problems:?}");
    assert!(problems["exits"].contains("ended while it was asked: exit code 3"), "{problems:?}");
    assert_eq!(problems["fine"], "");
    assert!(!problems["odd"].is_empty(), "{problems:?}");
    let rows = site.official(&["dump_deadlines"]).remove(0);
    let kept: Vec<&Value> = rows.iter().map(|row| &row["dag_id"]).collect();
    assert_eq!(kept, ["exits", "fine", "fine", "hangs", "odd", "raises"], "each has its good one");
}

/// Whose class hangs or crashes for another DAG has its deadline all the same.
#[tokio::test]
async fn a_bad_reference_costs_no_other_dag_its_deadline() {
    let site = Site::new(Server::Sqlite, None).await;
    site.official(&["bad_deadlines"]);
    let cx = site.scheduler(Duration::from_secs(8)).await;
    let (mut scheduler, stop) = (scheduler(cx).await, CancellationToken::new());
    let story = async {
        let kept = "SELECT dag_run.dag_id AS answer FROM deadline
            JOIN dag_run ON dag_run.id = deadline.dagrun_id ORDER BY dag_run.dag_id";
        until(&site.db, kept, &["exits", "fine", "fine", "hangs", "odd", "raises"]).await;
    };
    tokio::select! {
        () = scheduler.run(&stop, Loops::default()) => panic!("nobody has stopped it"),
        () = story => {}
    }
}
