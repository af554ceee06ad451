//! What the commands print, and how they end.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use ferroflow_testkit::{Airflow, Program, Server, TestDb};

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}

#[test]
fn with_nothing_configured_the_database_is_where_airflow_puts_it() {
    let program = ferroflow();
    let migrated = program.run(&["db", "migrate"]).expect_success();
    let path = program.home().join("airflow.db");
    assert!(
        migrated.starts_with("created 58 tables in sqlite:///") && migrated.contains(path.to_str().unwrap())
    );
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "secrets come into it");
    let again = program.run(&["db", "migrate"]).expect_success();
    assert!(again.starts_with("up to date: "), "{again}");
    assert_eq!(program.run(&["db", "current"]).expect_success(), "d2f4e1b3c5a7 (Airflow 3.3)\n");
    let info = program.run(&["info"]).expect_success();
    for part in [
        "Airflow 3.3.2",
        "SQLite 3",
        "revision d2f4e1b3c5a7",
        "airflow.cfg (missing: defaults are in effect)",
    ] {
        assert!(info.contains(part), "{part:?} is not in: {info}");
    }
    // A write-ahead log, and no leftovers of it once everybody has gone.
    let header = std::fs::read(&path).unwrap();
    assert_eq!(header[18..20], [2, 2], "the file is in WAL mode");
    assert!(!program.home().join("airflow.cfg").exists());
}

#[test]
fn get_value_prints_the_value_and_nothing_else() {
    let program = ferroflow().with("AIRFLOW__CORE__PARALLELISM", "7");
    std::fs::write(
        program.home().join("airflow.cfg"),
        "[core]\nparallelism = 5\nexecutor = CeleryExecutor\n",
    )
    .unwrap();
    for (section, key, expected) in [("core", "parallelism", "7\n"), ("core", "executor", "CeleryExecutor\n")]
    {
        let finished = program.run(&["config", "get-value", section, key]);
        assert_eq!(
            (finished.code, finished.stdout.as_str(), finished.stderr.as_str()),
            (Some(0), expected, "")
        );
    }
}

#[test]
fn get_value_of_an_unknown_option_helps() {
    let finished = ferroflow().run(&["config", "get-value", "core", "paralelism"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""));
    assert!(finished.stderr.contains("did you mean parallelism"), "{}", finished.stderr);
}

#[test]
fn list_can_be_cut_off() {
    let program = ferroflow();
    let mut child = program
        .command(&["config", "list", "--show-values"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn check_migrations_waits_until_somebody_migrates() {
    let program = ferroflow();
    program.run(&["db", "migrate"]).expect_success();
    // As if another process were at it: the tables are there, the revision is not yet.
    let url = format!("sqlite://{}", program.home().join("airflow.db").display());
    let execute = |statement: &str| {
        let statements = [statement.to_owned()];
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(ferroflow_db::testing::execute(&url, &statements)).unwrap();
    };
    execute("DELETE FROM alembic_version");
    let mut waiting = program
        .command(&["db", "check-migrations", "-t", "60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first_line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(waiting.stderr.take().unwrap()),
        &mut first_line,
    )
    .unwrap();
    assert!(first_line.contains("waiting up to 60 s"), "{first_line}");
    execute("INSERT INTO alembic_version VALUES ('d2f4e1b3c5a7')");
    assert!(waiting.wait().unwrap().success());
}

/// Both programs rotate; each reads what the other made of it.
#[tokio::test]
async fn keys_are_rotated_as_airflow_rotates_them() {
    let (old, new) =
        ("ibDyYbi7Mxd0KIQpwnQNjFxqjRxX3rL0y4V7s6YqL5o=", "qZ8oEw1R3h2yb6X9wQ4m1FJ2l0a5s7D8kTzYc3uVn9E=");
    let database = TestDb::migrated(Server::Sqlite).await;
    let airflow = |keys: &str| Airflow::on(&database.url()).with("AIRFLOW__CORE__FERNET_KEY", keys);
    airflow(old).run(&["variables", "set", "secret", "value \u{1f511}"]).expect_success();
    airflow(old)
        .run(&[
            "connections",
            "add",
            "db",
            "--conn-type",
            "http",
            "--conn-password",
            "pw",
            "--conn-extra",
            r#"{"a": "b"}"#,
        ])
        .expect_success();

    let rotated = ferroflow()
        .on(&database.url())
        .with("AIRFLOW__CORE__FERNET_KEY", &format!("{new},{old}"))
        .run(&["rotate-fernet-key"])
        .expect_success();
    let counts: Vec<&str> =
        rotated.lines().filter_map(|line| line.split_whitespace().next()).take(6).collect();
    assert_eq!(counts, ["1", "1", "1", "0", "0", "0"], "{rotated}");

    let value = airflow(new).run(&["variables", "get", "secret"]).expect_success();
    assert_eq!(value.trim(), "value \u{1f511}");
    let connection = airflow(new).run(&["connections", "get", "db", "-o", "json"]).expect_success();
    assert!(connection.contains("\"pw\""), "{connection}");
    let refused =
        ferroflow().on(&database.url()).with("AIRFLOW__CORE__FERNET_KEY", old).run(&["rotate-fernet-key"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("connection \"db\"") && refused.stderr.contains("[core] fernet_key"),
        "{}",
        refused.stderr
    );
}

#[test]
fn every_command_explains_itself() {
    for arguments in
        [&["--help"][..], &["db", "--help"], &["db", "reset", "--help"], &["config", "list", "--help"]]
    {
        let help = ferroflow().run(arguments).expect_success();
        assert!(help.contains("Usage: ferroflow") && help.lines().count() > 5, "{help}");
    }
    let version = ferroflow().run(&["version"]).expect_success();
    assert!(version.contains("(Airflow 3.3.2)"), "{version}");
    for flag in ["--version", "-V"] {
        assert_eq!(ferroflow().run(&[flag]).expect_success(), version);
    }
}
