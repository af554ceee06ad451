//! What `ferroflow tasks` says beyond what Airflow's says.

use ferroflow_testkit::Server;
use serde_json::json;

use crate::cli::site::Site;

#[tokio::test]
async fn the_tasks_of_a_dag_are_those_in_the_database() {
    let site = Site::on(Server::Sqlite).await;
    let listed = site.run(&["tasks", "list", "daily"]).expect_success();
    assert_eq!(listed, "begin\nend\nleft\nright\n");
}

#[tokio::test]
async fn what_is_not_there_is_told_with_near_names() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, told) in [
        (&["tasks", "list", "dayly"][..], "did you mean daily?"),
        (&["tasks", "clear", "dayly", "--yes"], "did you mean daily?"),
        (&["tasks", "clear", "-R", "^nothing", "--yes"], "no DAG has an id"),
        (&["tasks", "clear", "-R", "(", "--yes"], "is no regular expression"),
        (&["tasks", "state", "daily", "lift", "2020-01-02"], "did you mean left?"),
        (&["tasks", "state", "mapped", "each", "thre", "--map-index", "1"], "did you mean three?"),
        (&["tasks", "state", "mapped", "each", "three"], "--map-index"),
        (&["tasks", "states-for-dag-run", "consumer", "2020-01-02"], "it has no runs"),
    ] {
        let refused = site.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    }
}

#[tokio::test]
async fn what_would_be_cleared_is_listed_and_asked_for() {
    let site = Site::on(Server::Sqlite).await;
    let clear = ["tasks", "clear", "--dag-regex", "^(daily|mapped)$", "--only-failed"];
    let asked = site.run_with_input(&clear, "n\n").expect_success();
    let expected = "You are about to clear these 5 task instances:
  daily.left scheduled__2020-01-02T00:00:00+00:00 [failed]
  daily.begin backfill__2020-01-03T00:00:00+00:00 [failed]
  daily.left backfill__2020-01-03T00:00:00+00:00 [upstream_failed]
  daily.right backfill__2020-01-03T00:00:00+00:00 [upstream_failed]
  mapped.each[1] three [failed]

Are you sure? [y/n]
Cancelled, nothing was cleared.
";
    assert_eq!(asked, expected);
    let state = ["tasks", "state", "daily", "left", "2020-01-02"];
    assert_eq!(site.run(&state).expect_success(), "failed\n");
    site.run_with_input(&clear, "y\n").expect_success();
    assert_eq!(site.run(&state).expect_success(), "None\n");
    assert_eq!(site.run(&clear).expect_success(), "", "nothing is left to clear");
}

#[tokio::test]
async fn what_a_task_waits_for_is_told() {
    let site = Site::on(Server::Sqlite).await;
    let told = site.run(&["tasks", "failed-deps", "daily", "left", "2020-01-04"]).expect_success();
    assert!(told.starts_with("Task instance dependencies not met:\n"), "{told}");
    assert!(told.contains("the trigger rule all_success is not met: 0 of 1 upstream"), "{told}");
    assert_eq!(told.matches("no scheduler runs").count(), 1, "{told}");
}

#[tokio::test]
async fn looking_writes_nothing() {
    let site = Site::on(Server::Sqlite).await;
    for arguments in [
        &["dags", "state", "daily", "2020-01-02"][..],
        &["dags", "list-runs", "daily"],
        &["tasks", "states-for-dag-run", "daily", "2020-01-02"],
        &["pools", "list"],
        &["variables", "list"],
    ] {
        site.run(arguments).expect_success();
    }
    let columns = json!([["event", "VARCHAR(60)"]]);
    assert_eq!(site.rows("log", &columns).await, Vec::<serde_json::Value>::new());
    site.run(&["dags", "pause", "daily"]).expect_success();
    assert_eq!(site.rows("log", &columns).await, [json!(["cli_dag_pause"])]);
}
