//! `ferroflow dags runs`: pictures of runs.

use ferroflow_testkit::Server;
use serde_json::Value;

use crate::cli::site::Site;

const GRID: &str = "\
daily: 4 runs, the newest at the right

run    + F F R
begin  + + F R
left   + F U .
right  + + U .
end    + + - .

F failed   U upstream_failed   R running   . no state yet   + success   - skipped

leftmost   scheduled__2020-01-01T00:00:00+00:00 (success)
rightmost  scheduled__2020-01-04T00:00:00+00:00 (running)
";

const CHART: &str = "\
daily scheduled__2020-01-02T00:00:00+00:00: failed, from 2020-01-02T01:00:00Z on, 2 h 0 min

* begin  ####################################                                      1 h 0 min success
  left   ####################################                                      1 h 0 min failed
* right  ####################################                                      1 h 0 min success
* end    ####################################                                      1 h 0 min success

. queued   - earlier tries   # last try   > goes on   * what the run waited for, one after the other
";

#[tokio::test]
async fn on_sqlite() {
    runs_are_drawn(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    runs_are_drawn(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    runs_are_drawn(Server::MariaDb).await;
}

async fn runs_are_drawn(server: Server) {
    let site = Site::on(server).await;
    assert_eq!(site.run(&["dags", "runs", "daily"]).expect_success(), GRID);
    let fewer = site.run(&["dags", "runs", "daily", "--limit", "1"]).expect_success();
    assert!(fewer.starts_with("daily: 1 run, the newest at the right\n"), "{fewer}");
    let chart = site.run(&["dags", "runs", "daily", "scheduled__2020-01-02T00:00:00+00:00"]).expect_success();
    assert_eq!(chart, CHART);
    let by_date = site.run(&["dags", "runs", "daily", "2020-01-02", "--gantt"]).expect_success();
    assert_eq!(by_date, CHART);
    let grid = site.run(&["dags", "runs", "daily", "-o", "json"]).expect_success();
    let grid: Value = serde_json::from_str(&grid).unwrap();
    let runs = grid["runs"].as_array().unwrap().len();
    let tasks = grid["tasks"].as_array().unwrap();
    assert!(runs > 1 && tasks.iter().all(|task| task["states"].as_array().unwrap().len() == runs), "{grid}");
    let chart = site.run(&["dags", "runs", "daily", "--gantt", "-o", "json"]).expect_success();
    let chart: Value = serde_json::from_str(&chart).unwrap();
    assert!(chart["tries"].as_array().unwrap().iter().any(|one| one["task_id"] == "begin"), "{chart}");
}

#[tokio::test]
async fn what_is_not_there_is_told() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, told) in [
        (&["dags", "runs", "dayly"][..], "did you mean daily?"),
        (&["dags", "runs", "daily", "no_such_run"], "no run of the name or logical date"),
        (&["dags", "runs", "daily", "--gantt", "--limit", "3"], "cannot be used with"),
        (&["dags", "runs", "daily", "--limit", "0"], "0 is not in 1..=1000"),
    ] {
        let refused = site.run(arguments);
        assert!(refused.code.is_some_and(|code| code != 0), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
    }
}
