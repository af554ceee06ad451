//! Whether a scheduler lives can be asked: over HTTP, and by a command.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, wait_until};

use crate::scheduler::FERROFLOW;
use crate::scheduler::http::get;
use crate::scheduler::scene::{free_port, scene, wait_for_runs};

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

/// A place whose schedulers are asked there.
fn with_health(place: Place, port: u16) -> Place {
    place
        .with("AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK", "True")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_HOST", "127.0.0.1")
        .with("AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT", &port.to_string())
}

#[tokio::test]
async fn a_scheduler_tells_that_it_lives() {
    let port = free_port();
    let place = with_health(scene(Server::Postgres, "").await, port);
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

/// Its process lives, and so does its heart; but its loop only fails, since a table is away.
#[tokio::test]
async fn a_scheduler_none_of_whose_cycles_ends_does_not_tell_that_it_lives() {
    let port = free_port();
    let place = with_health(scene(Server::Postgres, "").await, port);
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || status(port, "/health") == Some(200)), "{}", scheduler.log());
    place.db().execute("ALTER TABLE dag_run RENAME TO away").await;
    assert!(wait_until(60, || status(port, "/health") == Some(503)), "{}", scheduler.log());
    assert_eq!(check(&place, &["--job-type", "SchedulerJob", "--local"]).0, Some(1));
    place.db().execute("ALTER TABLE away RENAME TO dag_run").await;
    assert!(wait_until(60, || status(port, "/health") == Some(200)), "{}", scheduler.log());
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
}

/// Each examination takes a second and a half, and there are many: the cycle takes longer than the threshold.
#[tokio::test]
async fn a_scheduler_whose_cycle_takes_long_tells_that_it_lives() {
    let port = free_port();
    let dags = "from airflow.providers.standard.operators.empty import EmptyOperator
for number in range(20):
    with DAG(f'slow{number}', schedule='@once', start_date=datetime(2024, 1, 1)):
        EmptyOperator(task_id='nothing')
";
    let place = with_health(scene(Server::Postgres, dags).await, port);
    place
        .db()
        .execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END'",
        )
        .await;
    place
        .db()
        .execute(
            "CREATE TRIGGER slowly BEFORE UPDATE ON dag_run FOR EACH ROW WHEN (OLD.state = 'running') \
             EXECUTE FUNCTION slowly()",
        )
        .await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || status(port, "/health") == Some(200)), "{}", scheduler.log());
    let runs = wait_for_runs(&place, 20, 90).await;
    assert!(runs.len() == 20 && runs.iter().all(|run| run.ends_with("success")), "{runs:?}");
    assert!(!scheduler.log().contains("no sign of life"), "{}", scheduler.log());
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
}

/// Of two on a host, the row of one is gone: the other one's does not count for it.
#[tokio::test]
async fn each_scheduler_of_a_host_tells_of_itself() {
    let ports = [free_port(), free_port()];
    let place = with_health(scene(Server::Postgres, "").await, ports[0]);
    let mut first = place.start(FERROFLOW, &["scheduler"]);
    assert!(wait_until(60, || status(ports[0], "/health") == Some(200)), "{}", first.log());
    let place = with_health(place, ports[1]);
    let mut second = place.start(FERROFLOW, &["scheduler", "--skip-serve-logs"]);
    assert!(wait_until(60, || status(ports[1], "/health") == Some(200)), "{}", second.log());
    place
        .db()
        .execute("DELETE FROM job WHERE id = (SELECT MIN(id) FROM job WHERE job_type = 'SchedulerJob')")
        .await;
    assert!(wait_until(60, || status(ports[0], "/health") == Some(503)), "{}", first.log());
    assert_eq!(status(ports[1], "/health"), Some(200), "{}", second.log());
    for scheduler in [&mut first, &mut second] {
        scheduler.terminate();
        assert!(scheduler.wait_for_end(30).is_some(), "{}", scheduler.log());
    }
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
