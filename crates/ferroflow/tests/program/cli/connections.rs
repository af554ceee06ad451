//! What `ferroflow connections` does beyond what was recorded.

use std::os::unix::fs::PermissionsExt as _;

use ferroflow_testkit::{Program, Server, finish};
use serde_json::json;

use crate::cli::site::Site;

const KEY: &str = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3Igc2VjcmV0cyE=";
const OTHER_KEY: &str = "YW5vdGhlciBvbmUsIGFsc28gZm9yIHRlc3RzLCB5ZXM=";

/// Passwords and extras are encrypted where there is a key, and are no secret to who has it; the audit log never has
/// them, and who has another key is told which connection cannot be read.
#[tokio::test]
async fn secrets_of_connections_are_encrypted_and_not_logged() {
    let site = Site::on(Server::Sqlite).await;
    let run = |key: &str, arguments: &[&str]| {
        let mut command = site.program.command(arguments);
        finish(command.env("AIRFLOW__CORE__FERNET_KEY", key).current_dir(site.program.home()), "")
    };
    let uri = "http://me:northwest-1@h?token=northwest-2";
    run(KEY, &["connections", "add", "store", "--conn-uri", uri]).expect_success();
    site.write(
        "a.json",
        r#"{"store": {"conn_type": "x", "password": "northwest-3"}, "other": "x://:northwest-4@h"}"#,
    );
    run(KEY, &["connections", "import", "a.json", "--overwrite"]).expect_success();
    let columns = json!([
        ["conn_id", "TEXT"],
        ["password", "TEXT"],
        ["is_encrypted", "BOOLEAN"],
        ["extra", "TEXT"],
        ["is_extra_encrypted", "BOOLEAN"]
    ]);
    let rows = site.rows("connection", &columns).await;
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert!(row[1].as_str().unwrap().starts_with("gAAAA"), "{rows:?}");
        assert_eq!((&row[2], &row[3], &row[4]), (&json!("true"), &json!(null), &json!("false")), "{rows:?}");
    }
    assert!(run(KEY, &["connections", "get", "store"]).expect_success().contains("northwest-3"));
    assert!(run(OTHER_KEY, &["connections", "list"]).expect_success().contains("store"));
    for arguments in [&["connections", "get", "store"][..], &["connections", "export", "-"]] {
        let refused = run(OTHER_KEY, arguments);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("password of connection store"), "{}", refused.stderr);
    }
    let logged = site.rows("log", &json!([["extra", "TEXT"]])).await;
    assert_eq!(logged.len(), 2, "{logged:?}");
    assert!(!format!("{logged:?}").contains("northwest"), "{logged:?}");
}

#[tokio::test]
async fn without_a_key_that_is_told_and_files_with_secrets_are_for_nobody_else() {
    let site = Site::on(Server::Sqlite).await;
    let run = |key: &str, arguments: &[&str]| {
        let mut command = site.program.command(arguments);
        let finished =
            finish(command.env("AIRFLOW__CORE__FERNET_KEY", key).current_dir(site.program.home()), "");
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stderr.contains("stored as plain text: [core] fernet_key is not set")
    };
    site.write("c.json", r#"{"imported": "x://:northwest-4@h"}"#);
    site.write("v.json", r#"{"imported": "value"}"#);
    for (number, (key, is_told)) in [("", true), (KEY, false)].into_iter().enumerate() {
        let name = |what: &str| format!("{what}_{number}");
        assert_eq!(run(key, &["connections", "add", &name("a"), "--conn-uri", "x://me:secret@h"]), is_told);
        assert!(
            !run(key, &["connections", "add", &name("b"), "--conn-uri", "x://h"]),
            "there is no secret in it"
        );
        assert_eq!(run(key, &["connections", "import", "c.json", "--overwrite"]), is_told);
        assert_eq!(run(key, &["variables", "set", "v", "value"]), is_told);
        assert_eq!(run(key, &["variables", "import", "v.json"]), is_told);
        assert!(!run(key, &["connections", "list"]));
    }
    run(KEY, &["connections", "export", "connections.json"]);
    run(KEY, &["variables", "export", "variables.json"]);
    // Nor may they read one that was there and that they could read.
    site.write("again.json", "{}");
    let there = site.program.home().join("again.json");
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o644)).unwrap();
    run(KEY, &["connections", "export", "again.json"]);
    for file in ["connections.json", "variables.json", "again.json"] {
        let mode = std::fs::metadata(site.program.home().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

/// Airflow's list shows them in the URI.
#[tokio::test]
async fn secrets_in_extra_and_before_a_second_scheme_are_hidden() {
    let site = Site::on(Server::Sqlite).await;
    let add = |id, uri| site.run(&["connections", "add", id, "--conn-uri", uri]).expect_success();
    add("one", "x://me:hidden-1@h/s?api_key=hidden-2");
    add("two", "http://https://me:hidden-3@h");
    for format in ["table", "json", "yaml", "plain"] {
        let listed = ["connections", "list", "--show-values", "--hide-sensitive", "-o", format];
        let listed = site.run(&listed).expect_success();
        assert!(!listed.contains("hidden"), "{listed}");
        assert!(
            listed.contains("x://***:***@h/s?***") && listed.contains("http://https://***:***@h"),
            "{listed}"
        );
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_connection_is_told_in_a_line_without_its_secrets() {
    let site = Site::on(Server::Sqlite).await;
    site.run(&["connections", "add", "store", "--conn-uri", "x://h"]).expect_success();
    site.write(
        "bad.json",
        r#"{"fine": "x://h", "bad": {"conn_type": "x", "password": "s3cret", "port": "s3cret"}}"#,
    );
    site.write("no_type.yaml", "fine: x://h\nbad: {host: h, password: s3cret}\n");
    site.write("bad.yaml", "fine: x://h\nbad: 'x://me:s3cret@h\n");
    for (arguments, told) in [
        (&["connections", "get", "stor"][..], "did you mean store?"),
        (&["connections", "delete", "nothing like it"], "`ferroflow connections list` shows"),
        (&["connections", "add", "store", "--conn-uri", "x://:s3cret@h"], "already exists"),
        (&["connections", "add", "a", "--conn-uri", "s3cret@h"], "--conn-uri"),
        (&["connections", "add", "a", "--conn-uri", "x://me:s3cret@h:port"], "its port is not a number"),
        (
            &["connections", "add", "a", "--conn-json", "{\"password\": \"s3cret\""],
            "--conn-json: it is not a JSON dict",
        ),
        (&["connections", "add", "a", "--conn-type", "smtp", "--conn-port", "many"], "--conn-port: \"many\""),
        (&["connections", "import", "bad.json"], "bad.json, connection bad: its port is not a number"),
        (&["connections", "import", "no_type.yaml"], "no_type.yaml, connection bad: it has no conn_type"),
        (&["connections", "import", "bad.yaml"], "bad.yaml: line"),
        (&["connections", "import", "nowhere.yaml"], "there is no nowhere.yaml"),
        (&["connections", "export", "nowhere/a.json"], "the connections are not exported"),
        (&["connections", "export", "a.txt"], "--file-format"),
    ] {
        let refused = site.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}: {refused:?}");
        assert!(refused.stderr.contains(told), "{arguments:?}: {}", refused.stderr);
        assert!(!refused.stderr.contains("s3cret"), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{}", refused.stderr);
    }
    assert_eq!(
        site.rows("connection", &json!([["conn_id", "TEXT"]])).await,
        [json!(["store"])],
        "nothing was added"
    );
}

/// Airflow takes each line for a URI.
#[tokio::test]
async fn what_is_exported_can_be_imported() {
    let site = Site::on(Server::Sqlite).await;
    let add = |arguments: &[&str]| site.run(&[&["connections", "add"], arguments].concat()).expect_success();
    add(&["one", "--conn-uri", "my-type://me:p%2F%40%20%3D@https%3A%2F%2Fh:5/a%2Fb?x=1&y=z"]);
    add(&[
        "two",
        "--conn-json",
        r#"{"conn_type": "x", "login": "ä: #", "password": "yes", "extra": {"n": [1.5, null]}}"#,
    ]);
    add(&["three", "--conn-uri", "x://", "--conn-description", "'quoted'\nin two lines "]);
    let columns = json!([
        ["conn_id", "TEXT"],
        ["conn_type", "TEXT"],
        ["host", "TEXT"],
        ["schema", "TEXT"],
        ["login", "TEXT"],
        ["password", "TEXT"],
        ["port", "INTEGER"],
        ["extra", "TEXT"]
    ]);
    let before = site.rows("connection", &columns).await;
    for (file, more) in [("a.json", &[][..]), ("a.yaml", &[]), ("b.env", &["--serialization-format", "json"])]
    {
        site.run(&[&["connections", "export", file], more].concat()).expect_success();
        for id in ["one", "two", "three"] {
            site.run(&["connections", "delete", id]).expect_success();
        }
        site.run(&["connections", "import", file]).expect_success();
        let after = site.rows("connection", &columns).await;
        let missing: Vec<_> = before.iter().filter(|row| !after.contains(row)).collect();
        assert!(missing.is_empty() && after.len() == before.len(), "{file}: {missing:?} {after:?}");
    }
}

/// Only Python knows which types there are.
#[tokio::test]
async fn a_type_stays_where_python_cannot_be_asked() {
    let site = Site::on(Server::Sqlite).await;
    let mut command = site.program.command(&["connections", "add", "a", "--conn-type", "my_own"]);
    let added = finish(command.env("AIRFLOW__FERROFLOW__PYTHON", "/nonexistent/python"), "");
    assert!(
        added.stderr.contains("my_own") && added.stderr.contains("/nonexistent/python"),
        "{}",
        added.stderr
    );
    assert!(added.expect_success().contains("my_own"));
    let added = site.run(&["connections", "add", "b", "--conn-type", "smpt"]);
    assert!(added.stderr.contains("generic takes its place; did you mean smtp?"), "{}", added.stderr);
}

#[tokio::test]
async fn a_hook_tries_a_connection() {
    let site = Site::on(Server::Sqlite).await;
    let uri = "smtp://127.0.0.1:1/?disable_ssl=true&timeout=1&retry_limit=1";
    site.run(&["connections", "add", "mail", "--conn-uri", uri]).expect_success();
    let mut command = site.program.command(&["connections", "test", "mail"]);
    let tested = finish(command.env("AIRFLOW__CORE__TEST_CONNECTION", "Enabled"), "");
    assert_eq!((tested.code, tested.stderr.as_str()), (Some(1), ""), "{}", tested.stdout);
    let expected = "Retrieving connection: 'mail'\n\nTesting...\n\nConnection failed!\n";
    assert!(tested.stdout.starts_with(expected), "{}", tested.stdout);
}

#[test]
fn a_missing_database_is_told() {
    let program = Program::new(env!("CARGO_BIN_EXE_ferroflow")).on("sqlite:////nonexistent/airflow.db");
    for arguments in [&["connections", "list"][..], &["connections", "export", "-"]] {
        let refused = program.run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(refused.stderr.contains("/nonexistent/airflow.db"), "{}", refused.stderr);
    }
}
