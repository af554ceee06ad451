//! Every statement of `sql/` runs on every database by the function that is for it, and meets a row there: that the
//! database takes it, that the binds have its types and that the columns can be read.
//!
//! All of it is one test for each database, in one database: what has run is known for sure, and costs little.

mod assets;
mod backfills;
mod callbacks;
mod components;
mod dags;
mod deletion;
mod instances;
mod lists;
mod runs;
mod scheduling;
mod secrets;
mod tries;

use std::collections::BTreeSet;

use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::testing::statements_run;
use ferroflow_db::{Db, Dialect, Error, ScopedFutureExt as _, Tx, dag_run, notifications, schema};
use ferroflow_model::id;
use ferroflow_model::state::RunState;
use ferroflow_testkit::rows::add_run;
use ferroflow_testkit::{Server, TestDb, creation, repository};
use jiff::ToSpan as _;
use serde_json::json;

use crate::conformance::NOW;
use ferroflow_testkit::on_every_database;

on_every_database!(every_statement_runs_and_meets_a_row);

/// What finds nothing in a database that is in order.
const MEETS_NOTHING: [&str; 4] = [
    // An API server writes them.
    "task_instance_note/delete_of_instance",
    // They have gone with their task instances.
    "dag_deletion/task_instance_history",
    "dag_deletion/task_map",
    "dag_deletion/xcom",
];

async fn every_statement_runs_and_meets_a_row(server: Server) {
    let database = TestDb::empty(server).await;
    let db = Db::connect_to_create(&database.options()).await.unwrap();
    schema::migrate(&db, &creation()).await.unwrap();
    assert_eq!(schema::state(&db).await.unwrap(), schema::State::Current);
    database.execute("INSERT INTO team (name) VALUES ('team')").await;
    dags::run(&db).await;
    runs::run(&db).await;
    assets::run(&db).await;
    backfills::run(&db).await;
    instances::run(&db).await;
    tries::run(&db).await;
    scheduling::run(&db).await;
    callbacks::run(&db).await;
    components::run(&db, &database).await;
    secrets::run(&db).await;
    lists::run(&db).await;
    deletion::run(&db).await;
    if db.dialect() == Dialect::Postgres {
        notifications::triggers::install(&db).await.unwrap();
        within(&db, |tx| async move { notifications::triggers::installed(tx).await.map(drop) }.scope_boxed())
            .await;
    }

    let ran = statements_run(&db);
    let expected = statements(db.dialect());
    let missing: Vec<&String> = expected.iter().filter(|name| !ran.contains_key(name.as_str())).collect();
    assert!(
        missing.is_empty(),
        "{} statements have not run on {}: {missing:#?}",
        missing.len(),
        db.dialect()
    );
    let idle: Vec<_> = ran.iter().filter(|(name, met)| !**met && !MEETS_NOTHING.contains(name)).collect();
    assert!(idle.is_empty(), "{} statements have met no row on {}: {idle:#?}", idle.len(), db.dialect());
}

/// The names of the statements that this database is asked.
fn statements(dialect: Dialect) -> BTreeSet<String> {
    let root = repository("crates/ferroflow-db/sql");
    let mut names = BTreeSet::new();
    for table in std::fs::read_dir(&root).unwrap() {
        for file in std::fs::read_dir(table.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().with_extension("").display().to_string();
            if is_for(dialect, &name) {
                names.insert(name);
            }
        }
    }
    assert!(names.len() > 400, "the statements were found");
    names
}

/// Whether a database is asked a statement at all.
fn is_for(dialect: Dialect, name: &str) -> bool {
    let is_mysql = matches!(dialect, Dialect::MySql | Dialect::MariaDb);
    match name {
        // PostgreSQL alone has `NOTIFY`; on it alone nobody may see the pools while another queues.
        "notifications/notify" | "notifications/triggers" | "slot_pool/any" => dialect == Dialect::Postgres,
        // In two steps on MySQL, which would lock what it passes over.
        "dag_run/claim_running" => !is_mysql,
        "dag_run/oldest_running" | "dag_run/lock_running_by_id" => is_mysql,
        _ if name.ends_with("_postgres") => dialect == Dialect::Postgres,
        _ if name.ends_with("_mysql") => is_mysql,
        _ if name.ends_with("_sqlite") => dialect == Dialect::Sqlite,
        _ => true,
    }
}

/// Does something in one transaction.
async fn within<'a, W>(db: &Db, work: W)
where
    W: for<'t> FnMut(&'t mut Tx) -> scoped_futures::ScopedBoxFuture<'a, 't, Result<(), Error>>,
{
    db.transact(work).await.unwrap();
}

/// A JSON column.
macro_rules! stored {
    ($($json:tt)+) => { ferroflow_db::Json::from(serde_json::json!($($json)+)) };
}
use stored;

fn strings<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// A running run.
async fn running(tx: &mut Tx, dag_id: &str, run_id: &str, seconds: i64) -> Result<i64, Error> {
    let id = add_run(tx, dag_id, run_id, NOW + seconds.seconds()).await?;
    assert!(dag_run::set_state(tx, id, RunState::Queued, RunState::Running, NOW).await?);
    Ok(id)
}

fn key(dag_id: &str, run_id: &str, task_id: &str) -> TaskInstanceKey {
    let [dag_id, run_id, task_id] = [dag_id, run_id, task_id].map(str::to_owned);
    TaskInstanceKey { dag_id, run_id, task_id, map_index: -1 }
}

/// Adds a task instance, as `change` makes it.
async fn add(
    tx: &mut Tx,
    key: TaskInstanceKey,
    change: impl FnOnce(&mut TaskInstance),
) -> Result<TaskInstance, Error> {
    let mut row = TaskInstance::new(id::new_v7(NOW, rand::random()), key, NOW);
    "default_pool".clone_into(&mut row.pool);
    row.context_carrier = Some(json!({}));
    change(&mut row);
    task_instance::insert(tx, &row).await?;
    Ok(row)
}
