//! What `ferroflow dags` says beyond what Airflow's says.

use ferroflow_testkit::{Program, Server};
use serde_json::{Value, json};

use crate::cli::site::Site;

#[tokio::test]
async fn an_unknown_dag_is_told_with_near_names() {
    let site = Site::on(Server::Sqlite).await;
    for arguments in [
        &["dags", "trigger", "dayly"][..],
        &["dags", "pause", "dayly"],
        &["dags", "unpause", "dayly"],
        &["dags", "state", "dayly", "2020-01-01"],
        &["dags", "list-runs", "dayly"],
        &["dags", "list-jobs", "-d", "dayly"],
        &["dags", "delete", "dayly", "--yes"],
    ] {
        let refused = site.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(refused.stderr.contains("did you mean daily?"), "{arguments:?}: {}", refused.stderr);
    }
}

#[tokio::test]
async fn what_cannot_be_undone_is_asked_for() {
    let site = Site::on(Server::Sqlite).await;
    let asked = site.run_with_input(&["dags", "delete", "daily"], "n\n").expect_success();
    assert!(asked.contains("Proceed? (y/n)") && asked.ends_with("Cancelled\n"), "{asked}");
    let unanswered = site.run(&["dags", "delete", "by_hand"]);
    assert_eq!(unanswered.code, Some(1));
    assert!(unanswered.stderr.contains("--yes"), "{}", unanswered.stderr);
    let there = site.run(&["dags", "list-runs", "by_hand", "-o", "plain"]).expect_success();
    assert!(there.contains("with_conf"), "{there}");
    let refused = site.run(&["dags", "delete", "daily", "--yes"]);
    assert!(refused.stderr.contains("task begin of run scheduled__2020-01-04"), "{}", refused.stderr);
}

#[tokio::test]
async fn a_run_that_cannot_be_made_is_told_with_the_reason() {
    let site = Site::on(Server::Sqlite).await;
    for (arguments, told) in [
        (&["-c", "{nonsense"][..], "is not JSON"),
        (&["-c", "[1]"], "must be a JSON object"),
        (&["-c", "{\"size\": \"large\"}"], "Invalid input for param size"),
        (&["-r", "with_conf"], "A run already exists for Dag 'by_hand' with run_id 'with_conf'"),
        (&["-r", "scheduled__2021"], "reserved for scheduled runs"),
        (&["-l", "someday"], "2026-03-01T06:00"),
    ] {
        let refused = site.run(&[&["dags", "trigger", "by_hand"], arguments].concat());
        assert!(refused.code.is_some_and(|code| code != 0), "{arguments:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
    }
}

#[tokio::test]
async fn without_a_database_one_line_says_what_to_do() {
    let program = Program::new(env!("CARGO_BIN_EXE_ferroflow"));
    for arguments in [&["dags", "trigger", "daily"][..], &["dags", "pause", "daily"], &["dags", "list-jobs"]]
    {
        let refused = program.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("db migrate"), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn a_logical_date_with_an_offset_is_shown_in_utc() {
    let site = Site::on(Server::Sqlite).await;
    let arguments = ["dags", "trigger", "by_hand", "-l", "2021-05-07T07:00:00+02:00", "-o", "json"];
    let made = site.run(&arguments).expect_success();
    assert!(made.contains("\"2021-05-07 05:00:00+00:00\""), "{made}");
}

/// Whoever has a hook wants it to be asked, whatever else a DAG needs Python for.
#[tokio::test]
async fn a_mutation_hook_is_asked_about_the_tasks_of_a_run_that_is_triggered() {
    let hook = "def task_instance_mutation_hook(task_instance):\n    task_instance.queue = 'hooked'\n";
    for (folder, queue) in [("elsewhere", "default"), ("config", "hooked"), ("plugins", "hooked")] {
        let site = Site::on(Server::Sqlite).await;
        std::fs::create_dir(site.program.home().join(folder)).unwrap();
        site.write(&format!("{folder}/airflow_local_settings.py"), hook);
        site.run(&["dags", "trigger", "by_hand", "-r", "now"]).expect_success();
        let rows = site.rows("task_instance", &json!([["run_id", "TEXT"], ["queue", "TEXT"]])).await;
        let queues: Vec<&Value> = rows.iter().filter(|row| row[0] == "now").map(|row| &row[1]).collect();
        assert_eq!(queues, [queue], "{folder}");
    }
}
