//! `ferroflow why`: what the binary prints, and how it refuses.

use std::time::Duration;

use ferroflow_db::testing;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Place, Running, wait_until};

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::scene;

const DAGS: &str = "
with DAG('waits', schedule=[Asset('never')]):

    @task
    def only():
        pass

    only()
";

#[tokio::test]
async fn reasons_are_told_to_people_and_to_programs() {
    let place = scene(Server::Sqlite, DAGS).await;
    let (code, text) = asked(&place, &["why", "waits"]);
    assert_eq!(code, Some(0), "{text}");
    let expected = "DAG 'waits': active\n  - no scheduler runs\n  - 0 of 1 assets have changed; it waits for asset \
                    \"never\" at \"never\"\n";
    assert_eq!(text, expected);
    let (code, text) = asked(&place, &["why", "waits", "--output", "json"]);
    assert_eq!(code, Some(0), "{text}");
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["state"], "active");
    assert_eq!(answer["reasons"][0]["kind"], "no_scheduler");
    assert_eq!(answer["reasons"][1]["kind"], "assets");
}

const TROUBLED: &str = "
with DAG('nowhere', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task(pool='missing')
    def only():
        pass

    only()

with DAG('again', schedule='@once', start_date=datetime(2024, 1, 1)):

    @task(retries=1, retry_delay=timedelta(days=1))
    def fails():
        raise ValueError('no')

    fails()
";

#[tokio::test]
async fn a_dag_leads_to_its_runs_and_what_no_time_mends_is_told_at_once() {
    let place = scene(Server::Sqlite, TROUBLED).await;
    let mut scheduler = place.start(FERROFLOW, &["scheduler"]);
    let told = "tasks wait for a pool that does not exist";
    let line = || scheduler.log().lines().find(|line| line.contains(told)).map(str::to_owned);
    assert!(wait_until(90, || line().is_some()), "{}", scheduler.log());
    let line = line().unwrap();
    for word in ["pool=missing", "dag_id=nowhere", "task_id=only", "waiting=1"] {
        assert!(line.contains(word), "{line}");
    }
    let (_, text) = asked(&place, &["why", "nowhere"]);
    assert!(text.contains("- pool 'missing' does not exist"), "{text}");
    assert!(text.contains("1 of its task instances is not finished"), "{text}");
    assert!(text.ends_with("`ferroflow why nowhere RUN_ID` says it of the tasks of a run\n"), "{text}");

    let run = wait_for_retry(&place, &scheduler).await;
    let (_, text) = asked(&place, &["why", "again", &run]);
    let due = text.lines().find(|line| line.contains("its next try is not due before")).unwrap_or_default();
    assert!(!due.is_empty() && !due.contains("until"), "{text}");
    scheduler.terminate();
    assert_eq!(scheduler.wait_for_end(30), Some(0), "{}", scheduler.log());
}

/// Waits until a task waits for its next try, and answers its run.
async fn wait_for_retry(place: &Place, scheduler: &Running) -> String {
    let db = place.db().connect().await;
    let question = "SELECT run_id AS answer FROM task_instance WHERE state = 'up_for_retry'";
    let mut runs = Vec::new();
    for _ in 0..900 {
        runs = testing::texts(&db, question).await.unwrap();
        if !runs.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    db.close().await;
    assert_eq!(runs.len(), 1, "{}", scheduler.log());
    runs.remove(0)
}

#[tokio::test]
async fn what_is_not_there_is_refused_with_near_names() {
    let place = scene(Server::Sqlite, DAGS).await;
    let (code, text) = asked(&place, &["why", "wait"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("did you mean waits?"), "{text}");
    let (code, text) = asked(&place, &["why", "waits", "yesterday"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("DAG \"waits\" has no run \"yesterday\""), "{text}");
}

fn asked(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let mut asked = place.start(FERROFLOW, arguments);
    (asked.wait_for_end(60), asked.log())
}
