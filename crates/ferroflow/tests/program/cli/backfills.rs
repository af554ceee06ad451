//! What `ferroflow backfill` and `ferroflow assets` say beyond what Airflow's say.

use std::process::Stdio;
use std::time::Duration;

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::testing::texts;
use ferroflow_testkit::rows::add_run;
use ferroflow_testkit::{Program, Server, finish, given};
use serde_json::{Value, json};

use crate::cli::site::Site;

fn stretch<'a>(dag_id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let dates = ["--from-date", "2020-01-01", "--to-date", "2020-01-03"];
    [&["backfill", "create", "--dag-id", dag_id], &dates[..], more].concat()
}

#[tokio::test]
async fn a_backfill_that_is_not_made_is_told_with_the_reason() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, told) in [
        (stretch("dayly", &[]), "did you mean daily?"),
        (stretch("daily", &[]), "task right depends on the run before it: say which runs"),
        (stretch("daily", &["--run-backwards"]), "the latest date cannot come first"),
        (stretch("by_hand", &[]), "non-periodic schedule"),
        (stretch("never_again", &[]), "allowed_run_types"),
        (stretch("steps", &["--to-date", "2019-12-31"]), "cannot be used multiple times"),
        (stretch("steps", &["--dag-run-conf", "{nonsense"]), "--dag-run-conf \"{nonsense\" is not JSON"),
        (stretch("steps", &["--dag-run-conf", "[1]"]), "must be a JSON object"),
        (stretch("steps", &["--max-active-runs", "0"]), "--max-active-runs"),
    ] {
        let refused = site.run(&arguments);
        assert!(refused.code.is_some_and(|code| code != 0), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
    }
    let nothing: Vec<Value> = Vec::new();
    assert_eq!(site.rows("backfill", &json!([["id", "INTEGER"]])).await, nothing);
}

#[tokio::test]
async fn a_backfill_says_what_it_made() {
    let site = Site::on(Server::Sqlite).await;
    let made = site.run(&stretch("daily", &["--reprocess-behavior", "failed"]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let told = "backfill 1: 0 runs made, 2 begin anew; 1 dates keep the run that they have";
    assert_eq!(made.stderr.trim_end(), told);
    let another = site.run(&stretch("daily", &["--reprocess-behavior", "failed"]));
    assert!(another.stderr.contains("backfill 1 of Dag daily is not over"), "{}", another.stderr);
}

/// A timetable that somebody wrote in Python says which dates there are.
#[tokio::test]
async fn the_dates_of_a_custom_timetable_are_asked_of_python() {
    let site = Site::on(Server::Sqlite).await;
    site.database
        .execute(
            "UPDATE serialized_dag SET data = replace(data, \
             'airflow.timetables.trigger.CronTriggerTimetable', 'weekends.Saturdays') WHERE dag_id = 'steps'",
        )
        .await;
    std::fs::create_dir(site.program.home().join("plugins")).unwrap();
    site.write("plugins/weekends.py", SATURDAYS);
    let python = format!("{}/bin/python", given("VENV"));
    let dates = ["--from-date", "2020-01-01", "--to-date", "2020-01-31", "--run-backwards"];
    for more in [&["--dry-run"][..], &[]] {
        let arguments = [&["backfill", "create", "--dag-id", "steps"], &dates[..], more].concat();
        let mut command = site.program.command(&arguments);
        finish(command.env("AIRFLOW__FERROFLOW__PYTHON", &python), "").expect_success();
    }
    let columns = json!([["logical_date", "TIMESTAMP"], ["sort_ordinal", "INTEGER"]]);
    let mut links = site.rows("backfill_dag_run", &columns).await;
    links.sort_by_key(|link| link[1].to_string());
    let expected = [(25, "1"), (18, "2"), (11, "3"), (4, "4")];
    assert_eq!(links, expected.map(|(day, n)| json!([format!("2020-01-{day:02} 00:00:00.000000"), n])));
    let runs = site.rows("dag_run", &json!([["run_id", "TEXT"], ["dag_id", "TEXT"]])).await;
    assert!(runs.contains(&json!(["backfill__2020-01-26T00:00:00+00:00", "steps"])), "{runs:?}");
}

const SATURDAYS: &str = r#"
from datetime import timedelta

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, Timetable


class Saturdays(Timetable):
    @classmethod
    def deserialize(cls, data):
        return cls()

    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        if last_automated_data_interval is None:
            day = restriction.earliest
        else:
            day = last_automated_data_interval.start + timedelta(days=1)
        while day.isoweekday() != 6:
            day += timedelta(days=1)
        if restriction.latest is not None and day > restriction.latest:
            return None
        return DagRunInfo.interval(day, day + timedelta(days=1))


class Weekends(AirflowPlugin):
    name = "weekends"
    timetables = [Saturdays]
"#;

/// Who makes a backfill holds the row of the DAG, so that of two one is told of the other.
#[tokio::test]
async fn of_two_backfills_at_once_one_is_made() {
    for server in [Server::Sqlite, Server::Postgres, Server::MariaDb] {
        let site = Site::on(server).await;
        let arguments = stretch("steps", &[]);
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(|| site.run(&arguments));
            let other = scope.spawn(|| site.run(&arguments));
            (one.join().unwrap(), other.join().unwrap())
        });
        let codes = [one.code, other.code];
        assert!(codes.contains(&Some(0)) && codes.contains(&Some(1)), "{}{}", one.stderr, other.stderr);
        let links = site.rows("backfill_dag_run", &json!([["backfill_id", "INTEGER"]])).await;
        assert_eq!(links.len(), 9, "{links:?}");
        assert_eq!(site.rows("backfill", &json!([["dag_id", "TEXT"]])).await, [json!(["steps"])]);
    }
}

/// A run that somebody is about to make keeps the backfill waiting in the midst of its work.
#[tokio::test]
async fn a_backfill_that_is_killed_leaves_nothing() {
    let site = Site::on(Server::Postgres).await;
    let columns = json!([["id", "INTEGER"]]);
    let before = site.rows("dag_run", &columns).await.len();
    let (db, onlooker) = (site.database.connect().await, site.database.connect().await);
    let (place, onlooker) = (&site, &onlooker);
    let killed = db.rehearse(|tx| {
        async move {
            add_run(tx, "steps", "meanwhile", "2020-01-02T18:00:00Z".parse().unwrap()).await?;
            let mut command = place.program.command(&stretch("steps", &[]));
            let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let waiting = "SELECT CAST(count(*) AS TEXT) AS answer FROM pg_stat_activity \
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
            while texts(onlooker, waiting).await.unwrap() != ["1"] {
                assert_eq!(running.try_wait().unwrap(), None, "it does not wait");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            running.kill().unwrap();
            running.wait().unwrap();
            Ok(())
        }
        .scope_boxed()
    });
    killed.await.unwrap();
    let nothing: Vec<Value> = Vec::new();
    assert_eq!(site.rows("backfill", &columns).await, nothing);
    assert_eq!(site.rows("dag_run", &columns).await.len(), before);
    site.run(&stretch("steps", &[])).expect_success();
}

#[tokio::test]
async fn an_unknown_asset_is_told_with_near_names() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, told) in [
        (&["assets", "details", "--name", "sale"][..], "did you mean sales"),
        (&["assets", "details", "--alias", "--name", "hit"], "did you mean hot?"),
        (&["assets", "details", "--name", "nothing like it"], "`ferroflow assets list` shows"),
        (&["assets", "details", "--name", "twice"], "name it by --uri"),
        (&["assets", "materialize", "--name", "twice"], "more than one asset exists with name twice"),
        (
            &["assets", "materialize", "--name", "twice", "--uri", "a://"],
            "no task of any DAG updates asset twice",
        ),
        (&["assets", "materialize", "--name", "shared"], "two_a, two_b; `ferroflow dags trigger`"),
        (&["assets", "list", "--columns", "nonsense"], "there is no column nonsense; there are id, name"),
    ] {
        let refused = site.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
    }
}

/// Airflow's command fails at an asset that is watched.
#[tokio::test]
async fn what_watches_an_asset_is_shown() {
    for server in [Server::Sqlite, Server::Postgres, Server::MariaDb] {
        let site = Site::on(server).await;
        let trigger = if server == Server::MariaDb { "`trigger`" } else { "\"trigger\"" };
        site.database
            .execute(format!(
                "INSERT INTO {trigger} (id, classpath, kwargs, created_date)
                 VALUES (7, 'some.Trigger', '{{}}', '2020-01-01 00:00:00'); \
                 INSERT INTO asset_watcher (name, asset_id, trigger_id)
                 SELECT 'sentinel', id, 7 FROM asset WHERE name = 'stock'"
            ))
            .await;
        let shown = site.run(&["assets", "details", "--name", "stock", "-o", "json"]).expect_success();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown[0]["watchers"][0]["name"], "sentinel", "{server:?}: {shown}");
        assert_eq!(shown[0]["watchers"][0]["trigger_id"], "7");
    }
}

#[tokio::test]
async fn without_a_database_one_line_says_what_to_do() {
    let program = Program::new(env!("CARGO_BIN_EXE_ferroflow"));
    let clean = ["db", "clean", "--clean-before-timestamp", "2020-01-01", "--yes"];
    for arguments in [&stretch("daily", &[])[..], &["assets", "list"], &clean, &["db", "drop-archived"]] {
        let refused = program.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("db migrate"), "{}", refused.stderr);
    }
}
