//! What is repeated, and what is not.

use ferroflow_db::ScopedFutureExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroflow_db::{Db, Error, Options, dag};
use ferroflow_testkit::rows::a_dag;
use ferroflow_testkit::{Server, TestDb};
use tokio::sync::Barrier;

use crate::{get_variable, on_every_database, set_variable};

on_every_database!(
    a_deadlock_is_repeated_and_succeeds,
    a_permanent_error_is_not_repeated,
    a_transaction_that_fails_leaves_nothing,
);

async fn a_deadlock_is_repeated_and_succeeds(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    for key in ["a", "b"] {
        set(&db, key, "0").await.unwrap();
    }
    let meeting = Arc::new(Meeting { attempts: AtomicU32::new(0), both_hold_one: Barrier::new(2), server });
    let in_order = |keys: [&'static str; 2], value: &'static str| {
        let (db, meeting) = (db.clone(), Arc::clone(&meeting));
        tokio::spawn(async move { set_both(&db, keys, value, &meeting).await })
    };
    let (one, other) = (in_order(["a", "b"], "1"), in_order(["b", "a"], "2"));
    one.await.unwrap().unwrap();
    other.await.unwrap().unwrap();

    let (a, b) = (get(&db, "a").await, get(&db, "b").await);
    assert_eq!(a, b, "one transaction came after the other");
    let expected = if server == Server::Sqlite { 2 } else { 3 };
    assert_eq!(meeting.attempts.load(Ordering::SeqCst), expected, "exactly one was chosen as the victim");
}

/// Where two transactions meet that want the same two rows in opposite order.
struct Meeting {
    attempts: AtomicU32,
    both_hold_one: Barrier,
    server: Server,
}

async fn set_both(db: &Db, keys: [&str; 2], value: &str, meeting: &Meeting) -> Result<(), Error> {
    let attempts = &AtomicU32::new(0);
    db.transact(|tx| {
        async move {
            meeting.attempts.fetch_add(1, Ordering::SeqCst);
            set_variable(tx, keys[0], value).await?;
            // Only once, and never on SQLite, where the second has not begun yet.
            if attempts.fetch_add(1, Ordering::SeqCst) == 0 && meeting.server != Server::Sqlite {
                meeting.both_hold_one.wait().await;
            }
            set_variable(tx, keys[1], value).await
        }
        .scope_boxed()
    })
    .await
}

async fn a_permanent_error_is_not_repeated(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let attempts = &AtomicU32::new(0);
    let outcome: Result<(), Error> = db
        .transact(|tx| {
            async move {
                attempts.fetch_add(1, Ordering::SeqCst);
                // No such bundle: the foreign key refuses it.
                dag::insert(tx, &a_dag("dag")).await
            }
            .scope_boxed()
        })
        .await;
    let error = outcome.unwrap_err();
    assert!(!error.is_transient() && !error.is_busy(), "{error}");
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
}

async fn a_transaction_that_fails_leaves_nothing(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let outcome: Result<(), Error> = db
        .transact(|tx| {
            async move {
                set_variable(tx, "key", "value").await?;
                dag::insert(tx, &a_dag("dag")).await
            }
            .scope_boxed()
        })
        .await;
    outcome.unwrap_err();
    assert_eq!(get(&db, "key").await, None);
}

#[tokio::test]
async fn a_lost_connection_is_repeated_on_postgres() {
    let database = TestDb::migrated(Server::Postgres).await;
    a_lost_connection_is_repeated(&database).await;
}

#[tokio::test]
async fn a_lost_connection_is_repeated_on_mariadb() {
    let database = TestDb::migrated(Server::MariaDb).await;
    a_lost_connection_is_repeated(&database).await;
}

async fn a_lost_connection_is_repeated(database: &TestDb) {
    let db = Db::connect(&Options { max_attempts: 3, ..database.options() }).await.unwrap();
    for (losses, expected_attempts) in [(1, 2), (5, 3)] {
        let attempts = &AtomicU32::new(0);
        let outcome = db
            .transact(|tx| {
                async move {
                    let attempt = attempts.fetch_add(1, Ordering::SeqCst) + 1;
                    set_variable(tx, "before", "1").await?;
                    if attempt <= losses {
                        database.disconnect_everybody().await;
                    }
                    set_variable(tx, "after", "1").await
                }
                .scope_boxed()
            })
            .await;
        assert_eq!(outcome.is_ok(), losses < 3, "{outcome:?}");
        assert_eq!(attempts.load(Ordering::SeqCst), expected_attempts);
    }
}

async fn set(db: &Db, key: &str, value: &str) -> Result<(), Error> {
    db.transact(|tx| async move { set_variable(tx, key, value).await }.scope_boxed()).await
}

async fn get(db: &Db, key: &str) -> Option<String> {
    db.transact(|tx| async move { get_variable(tx, key).await }.scope_boxed()).await.unwrap()
}
