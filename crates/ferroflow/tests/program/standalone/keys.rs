//! The keys of a site, and who may read its files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ferroflow_testkit::{finish, given};

use crate::standalone::home::{FERROFLOW, Home, end, wait_for_line};

const DAG: &str = "
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG('mine', schedule='@once'):
    EmptyOperator(task_id='only')
";
const KEY: &str = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3Igc2VjcmV0cyE=";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Starts it, waits until it tells of its keys, and answers all that it has told. It is not at work yet, and would not
/// end in order.
fn told(home: &Home, words: &[&str]) -> String {
    let mut running = home.start();
    wait_for_line(&running, words);
    running.kill();
    running.log()
}

fn ferroflow(home: &Home, arguments: &[&str]) -> String {
    finish(&mut home.command(Path::new(FERROFLOW), arguments), "").expect_success()
}

#[tokio::test]
async fn are_made_once_for_whoever_shares_the_home_and_for_nobody_else() {
    let home = Home::with_dags(DAG);
    let running = home.start();
    let cfg = home.airflow().join("airflow.cfg");
    wait_for_line(&running, &["keys ", cfg.to_str().unwrap()]);
    wait_for_line(&running, &["success  mine "]);
    for file in ["airflow.cfg", "airflow.db", "airflow.db-wal", "airflow.db-shm"] {
        assert_eq!(mode(&home.airflow().join(file)), 0o600, "{file}");
    }
    end(running);
    let made = fs::read_to_string(&cfg).unwrap();
    for key in ["fernet_key = ", "secret_key = ", "jwt_secret = "] {
        let value = made.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        assert_eq!(value.len(), 44, "{made}");
    }

    ferroflow(&home, &["connections", "add", "store", "--conn-uri", "http://me:northwest@h"]);
    let stored = home.ask("SELECT password AS answer FROM connection WHERE conn_id = 'store'").await;
    assert!(stored[0].starts_with("gAAAA"), "{stored:?}");
    let airflow = Path::new(&given("VENV")).join("bin/airflow");
    let shown = finish(&mut home.command(&airflow, &["connections", "get", "store", "-o", "json"]), "");
    assert!(shown.expect_success().contains("northwest"));

    told(&home, &["keys ", "as configured"]);
    assert_eq!(fs::read_to_string(&cfg).unwrap(), made);
    assert!(ferroflow(&home, &["connections", "get", "store", "-o", "json"]).contains("northwest"));
}

#[test]
fn a_configuration_of_somebodys_own_is_left_as_it_is() {
    let home = Home::with_dags(DAG);
    fs::create_dir_all(home.airflow()).unwrap();
    let cfg = home.airflow().join("airflow.cfg");
    fs::write(&cfg, "[core]\nparallelism = 4\n").unwrap();
    told(&home, &["keys ", "does not set [core] fernet_key", "passwords are stored as plain text"]);
    assert_eq!(fs::read_to_string(&cfg).unwrap(), "[core]\nparallelism = 4\n");
}

#[test]
fn what_is_encrypted_keeps_its_key() {
    let home = Home::with_dags(DAG);
    ferroflow(&home, &["db", "migrate"]);
    let add = ["connections", "add", "store", "--conn-uri", "http://me:northwest@h"];
    let mut command = home.command(Path::new(FERROFLOW), &add);
    finish(command.env("AIRFLOW__CORE__FERNET_KEY", KEY), "").expect_success();
    let db = home.airflow().join("airflow.db");
    fs::set_permissions(&db, fs::Permissions::from_mode(0o644)).unwrap();
    let readable =
        format!("can read the database, with passwords and XComs in it: chmod 600 {}", db.display());
    let log = told(&home, &["keys ", "none made", "the [core] fernet_key that it was encrypted with"]);
    assert!(log.contains(&readable), "{log}");
    assert!(!home.airflow().join("airflow.cfg").exists());
    let mut command = home.command(Path::new(FERROFLOW), &["connections", "get", "store", "-o", "json"]);
    let shown = finish(command.env("AIRFLOW__CORE__FERNET_KEY", KEY), "").expect_success();
    assert!(shown.contains("northwest"), "{shown}");
}
