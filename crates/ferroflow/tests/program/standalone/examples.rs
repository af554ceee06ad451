//! Somebody types one command on a machine that has nothing.

use crate::standalone::home::{Home, end, wait_for_line};

const ENDS: [(&str, &str); 7] = [
    ("example_branch_by_minute", "success"),
    ("example_daily_sales", "success"),
    ("example_failure", "failed"),
    ("example_mapped_words", "success"),
    ("example_orders_arrive", "success"),
    ("example_orders_report", "success"),
    ("example_uneven_hours", "success"),
];

/// What somebody writes next.
const OWN: &str = "
from airflow.sdk import DAG, task

with DAG('own', schedule='@once', is_paused_upon_creation=False):

    @task
    def only():
        pass

    only()
";

#[tokio::test]
async fn every_example_ends_as_it_should() {
    let home = Home::new();
    let running = home.start();
    for (dag_id, state) in ENDS {
        wait_for_line(&running, &[&format!("{state:<9}"), dag_id]);
    }
    wait_for_line(&running, &["check_total failed; its log: "]);
    let log = end(running);
    for told in [
        "home  ",
        "dags  ",
        "examples  ",
        "created ",
        "python  ",
        "started  example_daily_sales",
        "stopped; ",
    ] {
        assert!(log.contains(told), "{told:?} is not told\n{log}");
    }
    assert!(!log.contains('\x1b'), "a file is no terminal\n{log}");
    let failed = log.lines().find_map(|line| line.split_once("its log: ")).unwrap().1;
    assert!(
        std::fs::read_to_string(failed).unwrap().contains("100 rows were expected, 99 were found"),
        "{failed}"
    );
    let standing = "SELECT DISTINCT dag_id || ' ' || state AS answer FROM dag_run ORDER BY 1";
    let expected = ENDS.map(|(dag_id, state)| format!("{dag_id} {state}"));
    assert_eq!(home.ask(standing).await, expected);
    // One try failed, as it should, and the next did not.
    let tries = "SELECT CAST(try_number AS TEXT) AS answer FROM task_instance WHERE task_id = 'extract'";
    assert_eq!(home.ask(tries).await, ["2"]);
    assert_eq!(home.ask("SELECT integrity_check AS answer FROM pragma_integrity_check").await, ["ok"]);
    let jobs = "SELECT job_type || ' ' || state AS answer FROM job ORDER BY 1";
    assert_eq!(home.ask(jobs).await, ["DagProcessorJob success", "SchedulerJob success"]);
    assert!(home.airflow().join("dags").is_dir());
    assert_eq!(
        std::fs::read_dir(home.airflow().join("dags")).unwrap().count(),
        0,
        "the user's folder is the user's"
    );
    assert!(home.airflow().join("logs/ferroflow-standalone.log").is_file());
}

#[tokio::test]
async fn a_second_start_finds_everything_and_repeats_nothing() {
    let home = Home::new();
    let first = home.start();
    wait_for_line(&first, &["failed   ", "example_failure"]);
    let refused = home.start();
    wait_for_line(&refused, &["another `ferroflow standalone` is at work"]);
    end(first);
    std::fs::write(home.airflow().join("dags/own.py"), OWN).unwrap();
    let second = home.start();
    wait_for_line(&second, &["success  ", "own "]);
    let log = end(second);
    assert!(log.contains("up to date: "), "{log}");
    let runs = "SELECT CAST(COUNT(*) AS TEXT) AS answer FROM dag_run WHERE dag_id = 'example_failure'";
    assert_eq!(home.ask(runs).await, ["1"]);
}
