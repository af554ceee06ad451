//! What a database guarantees, however it is configured.

use ferroflow_db::job::{self, NewJob};
use ferroflow_db::schema::{self, Migrated, State};
use ferroflow_db::{Db, ScopedFutureExt as _, dag_run};
use ferroflow_model::state::RunState;
use ferroflow_testkit::{Server, TestDb, creation};

use jiff::Timestamp;

use crate::conformance::{NOW, add_running_runs};

ferroflow_testkit::on_every_database!(
    a_state_is_left_only_by_whoever_names_it,
    a_time_is_stored_as_it_is_or_refused,
    creation_is_done_once_however_many_ask,
    a_creation_that_was_interrupted_is_finished,
    a_reset_leaves_the_tables_and_nothing_in_them,
    foreign_tables_are_refused_and_kept,
);

async fn a_state_is_left_only_by_whoever_names_it(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let id = add_running_runs(&db, 1).await[0];
    let attempts = [
        (RunState::Queued, RunState::Running, false),
        (RunState::Running, RunState::Success, true),
        (RunState::Running, RunState::Failed, false),
    ];
    for (from, to, expected) in attempts {
        let changed = db
            .transact(|tx| async move { dag_run::set_state(tx, id, from, to, NOW).await }.scope_boxed())
            .await
            .unwrap();
        assert_eq!(changed, expected, "{from} to {to}");
    }
}

/// MySQL's TIMESTAMP ends in 2038. What lies beyond must not become another time.
async fn a_time_is_stored_as_it_is_or_refused(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    for text in ["1960-01-02T03:04:05.000006Z", "2026-11-15T12:00:00.123456Z", "2039-01-01T00:00:00Z"] {
        let time: Timestamp = text.parse().unwrap();
        let job = &NewJob {
            job_type: "SchedulerJob".to_owned(),
            hostname: "host".to_owned(),
            unixname: "user".to_owned(),
            executor_class: None,
        };
        let stored = db
            .transact(|tx| {
                async move {
                    let id = job::insert(tx, job, time).await?;
                    Ok(job::find(tx, id).await?.and_then(|job| job.start_date))
                }
                .scope_boxed()
            })
            .await;
        match stored {
            Ok(found) => assert_eq!(found, Some(time), "{server:?}"),
            Err(error) => {
                assert!(server == Server::MariaDb && !text.starts_with("2026"), "{error}");
                assert!(error.to_string().contains("Incorrect datetime value"), "{error}");
            }
        }
    }
}

async fn creation_is_done_once_however_many_ask(server: Server) {
    let database = TestDb::empty(server).await;
    let mut askers = Vec::new();
    for _ in 0..4 {
        let db = Db::connect_to_create(&database.options()).await.unwrap();
        askers.push(tokio::spawn(async move { schema::migrate(&db, &creation()).await }));
    }
    let mut outcomes = Vec::new();
    for asker in askers {
        outcomes.push(asker.await.unwrap().unwrap());
    }
    let created = outcomes.iter().filter(|outcome| matches!(outcome, Migrated::Created { .. })).count();
    assert_eq!(created, 1, "{outcomes:?}");
}

async fn a_creation_that_was_interrupted_is_finished(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    database.execute("DELETE FROM alembic_version").await;
    database.execute("DROP TABLE xcom").await;
    assert_eq!(schema::state(&db).await.unwrap(), State::Interrupted);
    assert!(schema::check(&db).await.unwrap_err().to_string().contains("ferroflow db migrate"));
    assert_eq!(
        schema::migrate(&db, &creation()).await.unwrap(),
        Migrated::Created { tables: 58, resumed: true }
    );
    assert_eq!(schema::state(&db).await.unwrap(), State::Current);
}

async fn a_reset_leaves_the_tables_and_nothing_in_them(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    add_running_runs(&db, 3).await;
    database.execute("CREATE TABLE celery_taskmeta (id integer)").await;
    schema::reset(&db, &creation()).await.unwrap();
    assert_eq!(schema::state(&db).await.unwrap(), State::Current);
    let runs =
        db.transact(|tx| async move { dag_run::claim_running(tx, 10).await }.scope_boxed()).await.unwrap();
    assert!(runs.is_empty());
    // Somebody else's table beside ours is still there.
    database.execute("INSERT INTO celery_taskmeta VALUES (1)").await;
}

async fn foreign_tables_are_refused_and_kept(server: Server) {
    let database = TestDb::empty(server).await;
    let db = Db::connect_to_create(&database.options()).await.unwrap();
    database.execute("CREATE TABLE customers (id integer)").await;
    for outcome in [schema::migrate(&db, &creation()).await, schema::reset(&db, &creation()).await] {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("customers") && error.contains("nothing was changed"), "{error}");
    }
    assert_eq!(schema::state(&db).await.unwrap(), State::Foreign { tables: vec!["customers".to_owned()] });
}

/// Rows without a revision are somebody's data, not a leftover.
#[tokio::test]
async fn a_database_that_lost_its_revision_is_refused() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    add_running_runs(&db, 1).await;
    database.execute("DELETE FROM alembic_version").await;
    assert!(schema::migrate(&db, &creation()).await.unwrap_err().to_string().contains("lost its revision"));
}
