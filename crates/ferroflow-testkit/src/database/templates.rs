//! The databases that others are copied from: made by whichever process needs them first, once in each run of `./test`.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use ferroflow_db::testing::{ensure_postgres_template, execute, mariadb_tables, schema_fingerprint};
use ferroflow_db::{Db, Dialect, Options, schema};
use tokio::sync::OnceCell;

use super::{creation, with_database};
use crate::given;

/// The file of one of SQLite.
pub(super) async fn sqlite() -> PathBuf {
    static TEMPLATE: OnceCell<PathBuf> = OnceCell::const_new();
    TEMPLATE
        .get_or_init(async || {
            kept(&format!("sqlite-{}.db", schema_fingerprint(Dialect::Sqlite)), async |file| {
                // Closing the last connection empties the write-ahead log into the file.
                migrate(&format!("sqlite:///{}", file.display())).await;
            })
            .await
        })
        .await
        .clone()
}

/// The name of one of PostgreSQL.
pub(super) async fn postgres() -> String {
    let name = format!("template_{}", schema_fingerprint(Dialect::Postgres));
    let server = given("POSTGRES");
    let made = ensure_postgres_template(&server, &name, async |unfinished| {
        migrate(&with_database(&server, unfinished)).await;
        anyhow::Ok(())
    });
    made.await.expect("the template is made");
    name
}

/// The statements that make the tables of MariaDB, and what is in them, in an empty database: all at once, for the
/// server spends less time on them than it takes to hand over one after the other.
pub(super) async fn mariadb() -> String {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    TEMPLATE
        .get_or_init(async || {
            let fingerprint = schema_fingerprint(Dialect::MariaDb);
            let file = format!("mariadb-{fingerprint}.sql");
            let file = kept(&file, async |file| {
                let name = format!("template_{fingerprint}");
                let server = given("MARIADB");
                let make = [
                    format!("DROP DATABASE IF EXISTS {name}"),
                    format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"),
                ];
                execute(&server, &make).await.expect("a database is made");
                let url = with_database(&server, &name);
                migrate(&url).await;
                std::fs::write(file, dumped(&url, &name).await).expect("the statements are written");
            });
            std::fs::read_to_string(file.await).expect("the statements are read")
        })
        .await
        .clone()
}

async fn migrate(url: &str) {
    let db = Db::connect_to_create(&Options::new(url)).await.expect("the empty database answers");
    schema::migrate(&db, &creation()).await.expect("the tables are made");
    db.close().await;
}

/// What makes each table as it is, and copies its rows.
async fn dumped(url: &str, name: &str) -> String {
    let mut statements = "SET foreign_key_checks = 0;\n".to_owned();
    for (table, made) in mariadb_tables(url).await.expect("the tables are told") {
        write!(statements, "{made};\nINSERT INTO `{table}` SELECT * FROM {name}.`{table}`;\n")
            .expect("a string takes everything");
    }
    statements
}

/// A file of the run's folder: made under another name, so that a half-made one is never copied, while others wait.
async fn kept(name: &str, make: impl AsyncFnOnce(&Path)) -> PathBuf {
    let folder = PathBuf::from(given("FOLDER"));
    let file = folder.join(name);
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("a lock is made");
    lock.lock().expect("a lock is taken");
    if !file.exists() {
        let unfinished = folder.join(format!("{name}.unfinished"));
        make(&unfinished).await;
        std::fs::rename(&unfinished, &file).expect("it is given its name");
    }
    file
}
