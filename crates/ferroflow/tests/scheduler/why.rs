//! `ferroflow why`: what the binary prints, and how it refuses.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::FERROFLOW;
use crate::scene::scene;

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
