//! Databases: ready, of another revision, absent.

use std::os::unix::fs::PermissionsExt as _;

use ferroflow_db::testing;
use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::Place;

use crate::doctor::{FERROFLOW, asked, findings, is_there};

/// What commands and roles leave behind.
const TRACES: &str = "SELECT CONCAT((SELECT COUNT(*) FROM log), ' ', (SELECT COUNT(*) FROM job), ' ', \
     (SELECT COUNT(*) FROM import_error), ' ', (SELECT COUNT(*) FROM dag_version)) AS answer";

#[tokio::test]
async fn a_site_is_ready_on_sqlite() {
    let text = ready(Server::Sqlite).await;
    assert!(text.contains("note     one scheduler at a time works on SQLite"), "{text}");
    assert!(text.ends_with("Ready: no problems, 1 note. docs/swapping.md says how to swap.\n"), "{text}");
}

#[tokio::test]
async fn a_site_is_ready_on_postgres() {
    let text = ready(Server::Postgres).await;
    assert!(text.contains("(PostgreSQL "), "{text}");
    assert!(text.ends_with("Ready: no problems, 0 notes. docs/swapping.md says how to swap.\n"), "{text}");
}

#[tokio::test]
async fn a_site_is_ready_on_mariadb() {
    let text = ready(Server::MariaDb).await;
    assert!(text.contains("(MariaDB "), "{text}");
    assert!(text.ends_with("Ready: no problems, 0 notes. docs/swapping.md says how to swap.\n"), "{text}");
}

/// What it says of a site with a DAG.
async fn ready(server: Server) -> String {
    let place = Place::on(server).await;
    place.write_dag("daily");
    place.process_once(FERROFLOW);
    let db = place.db().connect().await;
    let before = testing::texts(&db, TRACES).await.unwrap();
    let (code, text) = asked(&place, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(testing::texts(&db, TRACES).await.unwrap(), before, "it writes nothing");
    db.close().await;
    for words in [
        "Configuration\n  ok       ",
        "Executors\n  ok       LocalExecutor: up to 32 tasks",
        "Python\n  ok       ",
        "with Airflow 3.3.2",
        "its tables are those of Airflow 3.3, revision d2f4e1b3c5a7",
        "rows: dag 1, dag_run 0, task_instance 0, log ",
        "the serialized forms of 1 DAG were read",
        "the database knows of none that cannot be imported",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("postgresql://postgres:"), "no password is shown\n{text}");
    text
}

/// As Airflow makes it.
#[tokio::test]
async fn a_database_that_everybody_can_read_is_told() {
    let place = Place::on(Server::Sqlite).await;
    let file = place.db().sqlite_path();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, text) = asked(&place, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("warning  every user of this host can read the database"), "{text}");
    assert!(text.contains(&format!("chmod 600 {}", file.display())), "{text}");
}

#[tokio::test]
async fn a_database_of_another_revision_is_refused_on_sqlite() {
    of_another_revision(Server::Sqlite).await;
}

#[tokio::test]
async fn a_database_of_another_revision_is_refused_on_postgres() {
    of_another_revision(Server::Postgres).await;
}

#[tokio::test]
async fn a_database_of_another_revision_is_refused_on_mariadb() {
    of_another_revision(Server::MariaDb).await;
}

async fn of_another_revision(server: Server) {
    let place = Place::on(server).await;
    place.db().execute("UPDATE alembic_version SET version_num = '1d6611b6ab7c'").await;
    let (code, found) = findings(&place, &["--parse"]);
    assert_eq!(code, Some(1), "{found:#?}");
    assert!(
        is_there(&found, "problem Database: ", &["of Airflow 3.2.0", "airflow db migrate"]),
        "{found:#?}"
    );
    assert!(is_there(&found, "note DAGs: ", &["not looked at"]), "{found:#?}");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_and_the_rest_is_looked_at() {
    let place = Place::on(Server::Sqlite)
        .await
        .with("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql+psycopg2://ada:s3cret@127.0.0.1:1/airflow");
    let (code, found) = findings(&place, &[]);
    assert_eq!(code, Some(1), "{found:#?}");
    assert!(is_there(&found, "problem Database: it cannot be reached", &["127.0.0.1"]), "{found:#?}");
    assert!(is_there(&found, "ok Python: ", &["Airflow 3.3.2"]), "{found:#?}");
    assert!(!found.iter().any(|found| found.contains("s3cret")), "{found:#?}");
}
