//! What is forgotten at a listing of a bundle, and which DAGs are taken for gone.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroflow_component::{Runtime, RuntimeParts, Shutdown};
use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_dagproc::{Options, run};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::testing::texts;
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_execution::Host;
use ferroflow_testkit::dag_processing::{in_venv, simple_dag};
use ferroflow_testkit::rows::add_dag;
use ferroflow_testkit::{Server, TestDb};
use tempfile::TempDir;

const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";

/// No file of the two DAGs is there. One has been stale for long, as one is whose file cannot be imported.
#[tokio::test]
async fn what_a_stale_dag_waits_for_is_forgotten_when_another_dag_goes() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("dags")).unwrap();
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    add(&database, "stale").await;
    database.execute("UPDATE dag SET is_stale = true").await;
    let waiting = "SELECT dag_id AS answer FROM dag_schedule_asset_reference ORDER BY dag_id";
    process(&database, folder.path()).await;
    assert_eq!(texts(&db, waiting).await.unwrap(), ["stale"], "nothing has gone");
    add(&database, "goes").await;
    assert_eq!(texts(&db, waiting).await.unwrap(), ["goes", "stale"]);
    process(&database, folder.path()).await;
    assert!(texts(&db, waiting).await.unwrap().is_empty());
    assert!(active(&db).await.is_empty());
}

/// The row of one DAG cannot be changed, and what another has left, which is stale for long, cannot be deleted.
#[tokio::test]
async fn what_cannot_be_marked_or_forgotten_keeps_no_other_dag() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("dags")).unwrap();
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    add(&database, "stale").await;
    database.execute("UPDATE dag SET is_stale = true").await;
    for dag_id in ["goes", "stays"] {
        add(&database, dag_id).await;
    }
    refuse(&database, "UPDATE ON dag WHEN NEW.is_stale AND NEW.dag_id = 'stays'").await;
    refuse(&database, "DELETE ON dag_schedule_asset_reference WHEN OLD.dag_id = 'stale'").await;
    let bundles = "INSERT INTO dag_bundle (name, active, template_params) VALUES ('a_stays', 1, '{}'), ('b_goes', 1, '{}')";
    database.execute(bundles).await;
    refuse(&database, "UPDATE ON dag_bundle WHEN NEW.name = 'a_stays'").await;
    let errors = "INSERT INTO import_error (filename, bundle_name, stacktrace) \
                  VALUES ('a_stays.py', 'dags-folder', ''), ('b_goes.py', 'dags-folder', '')";
    database.execute(errors).await;
    refuse(&database, "DELETE ON import_error WHEN OLD.filename = 'a_stays.py'").await;
    process(&database, folder.path()).await;
    let errors = texts(&db, "SELECT filename AS answer FROM import_error").await.unwrap();
    assert_eq!(errors, ["a_stays.py"]);
    let inactive = "SELECT name AS answer FROM dag_bundle WHERE NOT active";
    assert_eq!(texts(&db, inactive).await.unwrap(), ["b_goes"]);
    assert_eq!(active(&db).await, ["stays"]);
    let waiting = "SELECT dag_id AS answer FROM dag_schedule_asset_reference ORDER BY dag_id";
    assert_eq!(texts(&db, waiting).await.unwrap(), ["stale", "stays"]);
}

/// Whatever is older than its file was stored is gone at once here.
#[tokio::test]
async fn a_dag_is_not_gone_by_its_own_parse_nor_when_it_is_kept_back() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("dags")).unwrap();
    let file = folder.path().join("dags/file.py");
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    std::fs::write(&file, ["kept", "removed"].map(simple_dag).concat()).unwrap();
    process(&database, folder.path()).await;
    assert_eq!(active(&db).await, ["kept", "removed"]);
    refuse(&database, "UPDATE ON dag WHEN NEW.dag_id = 'kept'").await;
    // Nor is anything made of the wrong time of the last refresh, nor can the next one be noted.
    database.execute("UPDATE dag_bundle SET last_refreshed = 'nonsense'").await;
    refuse(&database, "UPDATE OF last_refreshed ON dag_bundle").await;
    std::fs::write(&file, ["kept", "new"].map(simple_dag).concat()).unwrap();
    process(&database, folder.path()).await;
    assert_eq!(active(&db).await, ["kept", "new"]);
    let errors = texts(&db, "SELECT stacktrace AS answer FROM import_error").await.unwrap();
    assert!(errors.len() == 1 && errors[0].contains("not this one"), "{errors:?}");
}

async fn refuse(database: &TestDb, what: &str) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("refusal_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    database
        .execute(format!(
            "CREATE TRIGGER {name} BEFORE {what} BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        ))
        .await;
}

async fn active(db: &Db) -> Vec<String> {
    texts(db, "SELECT dag_id AS answer FROM dag WHERE NOT is_stale ORDER BY dag_id").await.unwrap()
}

/// Adds a DAG that waits for an asset.
async fn add(database: &TestDb, dag_id: &str) {
    let db = database.connect().await;
    db.transact(|tx| async move { add_dag(tx, dag_id).await }.scope_boxed()).await.unwrap();
    let time = "'2024-01-01 00:00:00'";
    let asset = format!(
        "INSERT INTO asset (name, uri, \"group\", extra, created_at, updated_at) \
         VALUES ('{dag_id}', '{dag_id}', '', '{{}}', {time}, {time})"
    );
    database.execute(asset).await;
    let reference = format!(
        "INSERT INTO dag_schedule_asset_reference (asset_id, dag_id, created_at, updated_at) \
         SELECT id, name, {time}, {time} FROM asset WHERE name = '{dag_id}'"
    );
    database.execute(reference).await;
}

/// Goes through the files of the bundle once.
async fn process(database: &TestDb, folder: &Path) {
    let variables = [
        ("AIRFLOW_HOME", folder.display().to_string()),
        ("AIRFLOW__CORE__DAGS_FOLDER", folder.join("dags").display().to_string()),
        ("AIRFLOW__CORE__LOAD_EXAMPLES", "False".to_owned()),
        ("AIRFLOW__CORE__FERNET_KEY", KEY.to_owned()),
        ("AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD", "0".to_owned()),
        ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", database.url()),
    ];
    let environment = variables
        .iter()
        .fold(Environment::empty("/nowhere"), |environment, (name, value)| environment.with(name, value));
    let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
    let parts = RuntimeParts {
        db: database.connect().await,
        settings: Arc::new(settings),
        environment,
        fernet: Arc::new(Fernet::new(KEY).unwrap()),
        python: in_venv("python"),
        host: Host { name: "host".to_owned(), user: "somebody".to_owned() },
    };
    let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let runtime = Runtime::of(parts, variables.to_vec());
    let options = Options { bundles: Vec::new(), num_runs: Some(1) };
    run(&runtime, &options, &Shutdown::default()).await.unwrap();
    runtime.close().await;
}
