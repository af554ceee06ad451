//! Whether a scheduler lives can be asked: over HTTP, and by a command.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, wait_until};

use crate::FERROFLOW;
use crate::http::get;
use crate::scene::{free_port, scene};

/// The status that a path is answered with; none if nobody answers.
fn status(port: u16, path: &str) -> Option<u16> {
    get(port, path).map(|answer| answer.status)
}

/// The exit status of `jobs check`, and what it says.
fn check(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let arguments = [&["jobs", "check"], arguments].concat();
    let mut running = place.start(FERROFLOW, &arguments);
    (running.wait_for_end(30), running.log())
}

#[tokio::test]
async fn a_scheduler_tells_that_it_lives() {
    let port = free_port();
    let place = scene(Server::Postgres, "")
        .await
        .with("AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK", "True")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_HOST", "127.0.0.1")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT", &port.to_string());
    let schedulers = ["--job-type", "SchedulerJob", "--local"];
    assert_eq!(check(&place, &schedulers).0, Some(1));
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || status(port, "/health") == Some(200)), "{}", scheduler.log());
    assert_eq!(status(port, "/elsewhere"), Some(404));
    let (code, said) = check(&place, &schedulers);
    assert_eq!((code, said.trim_end().lines().last()), (Some(0), Some("Found one alive job.")));
    let other_host = check(&place, &["--job-type", "SchedulerJob", "--hostname", "elsewhere"]);
    assert_eq!(other_host.0, Some(1));
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
    assert_eq!(check(&place, &schedulers).0, Some(1));
}

#[tokio::test]
async fn several_are_more_than_one() {
    let place = scene(Server::Postgres, "").await;
    let schedulers = [place.start(FERROFLOW, &["scheduler"]), place.start(FERROFLOW, &["scheduler"])];
    let both = ["--job-type", "SchedulerJob", "--limit", "0", "--allow-multiple"];
    let both_live = wait_until(60, || check(&place, &both).1.contains("Found 2 alive jobs."));
    assert!(both_live, "{}\n{}", schedulers[0].log(), schedulers[1].log());
    let (code, said) = check(&place, &both[..4]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--allow-multiple"), "{said}");
    let (code, said) = check(&place, &["--allow-multiple"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("--limit"), "{said}");
}
