//! Settings and executors that ferroflow does not serve.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::doctor::{asked, findings, is_there};

#[tokio::test]
async fn what_is_not_obeyed_is_told_with_its_place_and_what_to_do() {
    let place = Place::on(Server::Sqlite).await.with("AIRFLOW__METRICS__STAT_NAME_HANDLER", "my.names");
    let file = place.root().join("home/airflow.cfg");
    let settings = "[core]\nexecutor = LocalExecutor,CeleryExecutor,my.OwnExecutor\nparalelism = 3\n\
                    default_impersonation = ada\n[api]\ninstance_name = ours\n";
    std::fs::write(&file, settings).unwrap();
    let (code, found) = findings(&place, &[]);
    assert_eq!(code, Some(1), "{found:#?}");
    let at = |line: &str| format!("{}:{line}", file.display());
    for (begins, words) in [
        (
            "warning Configuration: [core] default_impersonation is not obeyed",
            [at("4").as_str(), "another user"],
        ),
        ("warning Configuration: [metrics] stat_name_handler", ["AIRFLOW__METRICS__STAT_NAME_HANDLER", ""]),
        ("note Configuration: [core] paralelism is no option", [at("3").as_str(), ""]),
        ("ok Configuration: 1 setting is for components that stay official", ["[api] instance_name", ""]),
        ("ok Executors: LocalExecutor", ["", ""]),
        ("problem Executors: CeleryExecutor", [at("2").as_str(), "[core] executor"]),
        ("problem Executors: OwnExecutor (my.OwnExecutor)", [at("2").as_str(), "refuses to start"]),
    ] {
        assert!(is_there(&found, begins, &words), "{begins} {words:?}\n{found:#?}");
    }
    let (code, text) = asked(&place, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Not ready: 2 problems, 2 warnings, 3 notes."), "{text}");
    assert!(text.contains("keep the official scheduler for now"), "{text}");
}

#[tokio::test]
async fn a_wrong_value_is_a_problem_and_ends_the_search() {
    let place = Place::on(Server::Sqlite)
        .await
        .with("AIRFLOW__CORE__PARALLELISM", "many")
        .with("AIRFLOW__SCHEDULER__NUM_RUNS", "some");
    let (code, found) = findings(&place, &[]);
    assert_eq!(code, Some(1), "{found:#?}");
    assert!(is_there(&found, "problem Configuration: AIRFLOW__CORE__PARALLELISM", &["many"]), "{found:#?}");
    assert!(is_there(&found, "problem Configuration: AIRFLOW__SCHEDULER__NUM_RUNS", &["some"]), "{found:#?}");
    assert!(is_there(&found, "note Configuration: nothing else was looked at", &[]), "{found:#?}");
}
