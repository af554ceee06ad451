//! Runs that are examined together: one that is not as it was known is left out, and not the others.

use ferroflow_component::{EXECUTOR_CLASS, JobType};
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::{ScopedFutureExt as _, dag_run};
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::a_run;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::runs::place::{Place, Plan, at, daily};
use crate::runs::sketch::Sketch;
use crate::runs::whole::Whole;

ferroflow_testkit::on_every_database!(
    a_task_instance_that_somebody_has_changed,
    a_run_that_another_scheduler_has_taken_on
);

/// What is found in it is told to the run that waits for it.
async fn a_task_instance_that_somebody_has_changed(server: Server) {
    let past = Sketch::of("a; b < a; d").with("b", "depends_on_past", json!(true));
    let plans = [plan("aa", Sketch::of("a; b < a")), plan("mm", past), plan("zz", Sketch::of("a; b < a"))];
    let place = Place::new(server, &plans).await;
    let runs = ["aa", "zz"].map(|dag_id| a_run(dag_id, "run", at("2024-01-01")));
    place.running(&runs, &["a", "b"], None).await;
    let runs = [("first", "2024-01-01"), ("second", "2024-01-02")];
    let runs = runs.map(|(run_id, date)| a_run("mm", run_id, at(date)));
    place.running(&runs, &["a", "b", "d"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    whole.settle().await;
    whole.succeed(&place, "mm", "second", "a").await;
    whole.settle().await;
    assert_eq!(
        whole.handed(),
        ["aa run a", "mm first a", "mm first d", "mm second a", "mm second d", "zz run a"]
    );
    for (dag_id, run_id) in [("aa", "run"), ("mm", "first"), ("zz", "run")] {
        whole.succeed(&place, dag_id, run_id, "a").await;
    }
    place.set_state("mm", "first", "b", "skipped", whole.now).await;
    let report = whole.cycle().await;
    assert_eq!(whole.handed(), ["aa run b", "zz run b"], "and nobody waits for the next cycle");
    assert!(report.examined.put_off.is_empty(), "{:?}", report.examined.put_off);
    whole.settle().await;
    assert_eq!(whole.handed(), ["mm second b"]);
}

/// It is left to the other one.
async fn a_run_that_another_scheduler_has_taken_on(server: Server) {
    let names = ["aa", "mm", "zz"];
    let place = Place::new(server, &names.map(|name| plan(name, Sketch::of("a; b < a")))).await;
    place.running(&names.map(|name| a_run(name, "run", at("2024-01-01"))), &["a", "b"], None).await;
    let mut whole = Whole::new(&place, at("2024-06-01")).await;
    let peer = add_peer(&place, whole.now).await;
    whole.settle().await;
    assert_eq!(whole.handed(), ["aa run a", "mm run a", "zz run a"]);
    let (id, later) = (place.run("mm", "run").await.id, whole.now + SignedDuration::from_millis(500));
    let taken = place.db.transact(|tx| {
        async move { dag_run::set_examined(tx, &[id], Some(peer), later).await }.scope_boxed()
    });
    assert!(taken.await.unwrap());
    whole.now += SignedDuration::from_secs(1);
    for name in names {
        whole.succeed(&place, name, "run", "a").await;
    }
    whole.settle().await;
    assert_eq!(whole.handed(), ["aa run b", "zz run b"]);
    assert_eq!(place.run("mm", "run").await.scheduled_by_job_id, Some(peer));
}

fn plan(dag_id: &str, sketch: Sketch) -> Plan {
    let mut plan = Plan::new(dag_id, daily()).known_since(at("2030-01-01"));
    plan.sketch = sketch.setting("timetable", daily());
    plan
}

async fn add_peer(place: &Place, now: Timestamp) -> i64 {
    let new = &NewJob {
        job_type: JobType::Scheduler.as_str().to_owned(),
        hostname: "host".to_owned(),
        unixname: "somebody".to_owned(),
        executor_class: Some(EXECUTOR_CLASS.to_owned()),
    };
    let added = place.db.transact(|tx| async move { job::insert(tx, new, now).await }.scope_boxed());
    added.await.unwrap()
}
