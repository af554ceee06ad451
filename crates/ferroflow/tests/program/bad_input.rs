//! What can be wrong is answered in one line that names the cause and what to do, and nothing is changed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;

use ferroflow_testkit::{Finished, Program, Server, TestDb, finish, given};

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}

/// It failed, in one line that holds all of these.
fn assert_refused(finished: &Finished, expected: &[&str]) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(finished.stdout, "");
    assert_eq!(finished.stderr.trim_end().lines().count(), 1, "{}", finished.stderr);
    for part in expected {
        assert!(finished.stderr.contains(part), "{part:?} is not in: {}", finished.stderr);
    }
}

/// What any command that connects says.
fn assert_cannot_connect(url: &str, expected: &[&str]) {
    for command in ["migrate", "check", "check-migrations", "current"] {
        assert_refused(&ferroflow().on(url).run(&["db", command]), expected);
    }
    assert_refused(&ferroflow().on(url).run(&["db", "reset", "--yes"]), expected);
    // It is for finding out, so it tells and succeeds, unless the URL makes no sense.
    let info = ferroflow().on(url).run(&["info"]);
    let told = format!("{}{}", info.stdout, info.stderr);
    assert!(expected.iter().all(|part| told.contains(part)), "{told}");
}

#[test]
fn an_unknown_scheme() {
    let expected = ["[database] sql_alchemy_conn", "\"oracle+cx\"", "postgresql, mysql, mariadb and sqlite"];
    assert_cannot_connect("oracle+cx://user:secret@host/airflow", &expected);
}

#[test]
fn an_unreachable_server() {
    let port = free_port();
    for (scheme, name) in [("postgresql+psycopg2", "PostgreSQL"), ("mysql+mysqldb", "MySQL")] {
        let address = format!("127.0.0.1:{port}");
        let expected =
            [name, &address, "refused", "start the server, or correct [database] sql_alchemy_conn"];
        assert_cannot_connect(&format!("{scheme}://user:secret@{address}/airflow"), &expected);
    }
}

#[test]
fn an_unknown_host() {
    assert_cannot_connect(
        "postgresql://user:secret@no-such-host.invalid/airflow",
        &["cannot reach", "no-such-host.invalid"],
    );
}

#[test]
fn a_socket_that_is_not_there() {
    assert_cannot_connect(
        "postgresql://user@/airflow?host=/no/such/folder",
        &["cannot reach", "/no/such/folder"],
    );
    assert_cannot_connect(
        "mysql://user@localhost/airflow?unix_socket=/no/such.sock",
        &["cannot reach", "/no/such.sock"],
    );
}

#[test]
fn a_wrong_password() {
    let mariadb = format!("{}mysql", given("MARIADB"));
    for (url, name) in [(given("POSTGRES"), "PostgreSQL"), (mariadb, "MySQL")] {
        let (start, address) = url.rsplit_once('@').unwrap();
        let (start, _) = start.rsplit_once(':').unwrap();
        let expected = [name, "does not let user \"ferroflow\" in", "correct user and password"];
        assert_cannot_connect(&format!("{start}:wrong@{address}"), &expected);
    }
}

#[test]
fn a_missing_database() {
    for url in [given("POSTGRES"), given("MARIADB")] {
        let (start, _) = url.rsplit_once('/').unwrap();
        let expected = ["has no database \"no_such_database\"", "create it (CREATE DATABASE"];
        assert_cannot_connect(&format!("{start}/no_such_database"), &expected);
    }
}

#[test]
fn a_password_is_not_told() {
    let url = format!("postgresql://user:hunter2@127.0.0.1:{}/airflow", free_port());
    for arguments in [&["db", "check"][..], &["info"]] {
        let finished = ferroflow().on(&url).run(arguments);
        assert!(!format!("{finished:?}").contains("hunter2"), "{finished:?}");
    }
}

#[test]
fn a_sqlite_path_that_is_not_absolute() {
    assert_cannot_connect("sqlite:///airflow.db", &["absolute path", "\"airflow.db\""]);
    assert_cannot_connect("sqlite://", &["absolute path"]);
}

#[test]
fn a_folder_in_place_of_a_sqlite_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    assert_cannot_connect(&format!("sqlite:///{path}"), &[&path, "is a folder"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_sqlite_file_that_is_not_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("airflow.db");
    for content in [&b"this is a text, and no database at all".repeat(100)[..], &[0xff; 8192], b"short"] {
        std::fs::write(&path, content).unwrap();
        let url = format!("sqlite:///{}", path.display());
        assert_cannot_connect(&url, &["airflow.db", "is not a SQLite database, or is damaged", "backup"]);
        assert_eq!(std::fs::read(&path).unwrap(), content);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

/// The middle of the file is overwritten: only its pages are wrong, not its header.
#[tokio::test]
async fn a_sqlite_file_that_is_damaged_inside() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let mut content = std::fs::read(database.sqlite_path()).unwrap();
    content[100..4096].fill(0xaa);
    std::fs::write(database.sqlite_path(), &content).unwrap();
    assert_cannot_connect(&database.url(), &["airflow.db", "damaged"]);
    assert_eq!(std::fs::read(database.sqlite_path()).unwrap(), content);
}

#[test]
fn a_missing_sqlite_file_is_made_only_by_migrate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new").join("airflow.db");
    let url = format!("sqlite:///{}", path.display());
    for arguments in [&["db", "check"][..], &["db", "check-migrations", "-t", "0"], &["db", "current"]] {
        assert_refused(
            &ferroflow().on(&url).run(arguments),
            &["there is no database at", "ferroflow db migrate"],
        );
    }
    assert!(!path.exists());
    ferroflow().on(&url).run(&["db", "migrate"]).expect_success();
    assert!(path.exists());
}

/// Root may write everything, so the command runs as somebody else.
#[tokio::test]
async fn a_read_only_sqlite_file() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let folder = database.sqlite_path().parent().unwrap().to_owned();
    let binary = folder.join("ferroflow");
    std::fs::copy(env!("CARGO_BIN_EXE_ferroflow"), &binary).unwrap();
    let program = Program::new(&binary).on(&database.url());
    for path in [folder.as_path(), program.home()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(database.sqlite_path(), std::fs::Permissions::from_mode(0o444)).unwrap();
    let before = std::fs::read(database.sqlite_path()).unwrap();
    for command in ["migrate", "check"] {
        let mut command = program.command(&["db", command]);
        if rustix::process::geteuid().is_root() {
            command.uid(65534).gid(65534);
        }
        assert_refused(
            &finish(&mut command, ""),
            &["airflow.db", "read-only", "make it and its folder writable"],
        );
    }
    assert_eq!(std::fs::read(database.sqlite_path()).unwrap(), before);
}

#[tokio::test]
async fn a_revision_of_another_airflow() {
    for server in Server::ALL {
        let database = TestDb::migrated(server).await;
        for (revision, expected) in [
            ("1d6611b6ab7c", &["of Airflow 3.2.0", "`airflow db migrate` of Airflow 3.3.2"][..]),
            ("fedcba987654", &["revision fedcba987654, which ferroflow does not know", "downgrade"]),
        ] {
            database.execute(format!("UPDATE alembic_version SET version_num = '{revision}'")).await;
            let ferroflow = ferroflow().on(&database.url());
            assert_refused(&ferroflow.run(&["db", "migrate"]), expected);
            assert_refused(&ferroflow.run(&["db", "check-migrations", "-t", "0"]), expected);
            assert_refused(&ferroflow.run(&["db", "reset", "--yes"]), expected);
            assert_eq!(ferroflow.run(&["db", "current"]).expect_success().trim(), revision);
            let checked = ferroflow.run(&["db", "check"]).expect_success();
            assert!(checked.contains(expected[0]), "{checked}");
        }
    }
}

#[tokio::test]
async fn a_database_of_somebody_else() {
    for server in Server::ALL {
        let database = TestDb::empty(server).await;
        database.execute("CREATE TABLE customers (id integer)").await;
        let before = (server == Server::Sqlite).then(|| std::fs::read(database.sqlite_path()).unwrap());
        let ferroflow = ferroflow().on(&database.url());
        assert_refused(&ferroflow.run(&["db", "migrate"]), &["customers", "nothing was changed"]);
        assert_refused(&ferroflow.run(&["db", "reset", "--yes"]), &["customers", "nothing was changed"]);
        if let Some(before) = before {
            assert_eq!(std::fs::read(database.sqlite_path()).unwrap(), before);
        }
    }
}

#[test]
fn a_reset_is_not_done_without_a_yes() {
    let program = ferroflow();
    program.run(&["db", "migrate"]).expect_success();
    let before = std::fs::read(program.home().join("airflow.db")).unwrap();
    assert_refused(&program.run_with_input(&["db", "reset"], "yes\n"), &["--yes", "Nothing was done"]);
    assert_eq!(std::fs::read(program.home().join("airflow.db")).unwrap(), before);
}

#[test]
fn a_refused_reset_makes_no_file() {
    let program = ferroflow();
    assert_refused(&program.run(&["db", "reset"]), &["--yes", "Nothing was done"]);
    assert!(!program.home().join("airflow.db").exists());
}

#[test]
fn a_parameter_that_makes_no_sense() {
    assert_cannot_connect("postgresql://u@127.0.0.1/d?port=abc", &["port=abc", "a whole number"]);
    assert_cannot_connect("postgresql://u@127.0.0.1/d?sslmode=maybe", &["sslmode=maybe", "verify-full"]);
    assert_cannot_connect(
        "postgresql://u@127.0.0.1/d?sslrootcert=/no/ca.pem",
        &["/no/ca.pem", "sslrootcert"],
    );
    assert_cannot_connect("mysql://u@127.0.0.1/d?ssl_ca=/no/ca.pem", &["/no/ca.pem", "ssl_ca"]);
    assert_cannot_connect("mysql://u@127.0.0.1", &["names no database"]);
}

#[test]
fn a_wrong_value_in_the_configuration() {
    let program = ferroflow().with("AIRFLOW__DATABASE__MAX_DB_RETRIES", "often");
    std::fs::write(program.home().join("airflow.cfg"), "[core]\nparallelism = lots\n").unwrap();
    let finished = program.run(&["db", "migrate"]);
    assert_eq!(finished.code, Some(1));
    for part in [
        "airflow.cfg",
        "[core] parallelism",
        "\"lots\"",
        "AIRFLOW__DATABASE__MAX_DB_RETRIES",
        "\"often\"",
        "whole number",
    ] {
        assert!(finished.stderr.contains(part), "{part:?} is not in: {}", finished.stderr);
    }
    assert!(!program.home().join("airflow.db").exists());
}

#[test]
fn a_wrong_fernet_key() {
    let program = ferroflow().with("AIRFLOW__CORE__FERNET_KEY", "short");
    for arguments in [&["db", "migrate"][..], &["rotate-fernet-key"]] {
        assert_refused(&program.run(arguments), &["[core] fernet_key: key 1", "32 bytes"]);
    }
    assert!(!program.home().join("airflow.db").exists());
}

/// A port where nobody listens: one that was free a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
