//! What is repeated, and what is not.

use ferroflow_db::testing::limit_sqlite_size;
use ferroflow_db::{Db, Error, Options, ScopedFutureExt as _, dag};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroflow_testkit::rows::a_dag;
use ferroflow_testkit::{Server, TestDb};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

use crate::conformance::{get_variable, set_variable};

ferroflow_testkit::on_every_database!(
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

/// SQLite undoes a transaction by itself then, of which the driver knows nothing.
#[tokio::test]
async fn a_full_disk_leaves_no_connection_that_begins_nothing_any_more() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let options = Options { max_attempts: 1, pool_size: 1, max_overflow: 0, ..database.options() };
    let db = Db::connect(&options).await.unwrap();
    limit_sqlite_size(&db, true).await.unwrap();
    let long = "x".repeat(1 << 20);
    let error = set(&db, "key", &long).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    limit_sqlite_size(&db, false).await.unwrap();
    // That it cannot be used may be noticed only when it is to be used again.
    if let Err(error) = set(&db, "key", &long).await {
        assert!(error.is_transient(), "{error}");
        set(&db, "key", &long).await.unwrap();
    }
    assert_eq!(get(&db, "key").await, Some(long));
}

/// Whether it was done is not known, so it is not done again.
#[tokio::test]
async fn a_connection_cut_during_commit_is_not_repeated() {
    let database = TestDb::migrated(Server::Postgres).await;
    let url = ferroflow_db::DatabaseUrl::parse(&database.url()).unwrap();
    let port = cut_at_commit(url.port.unwrap()).await;
    let through_proxy = database.url().replace(&format!(":{}/", url.port.unwrap()), &format!(":{port}/"));
    let db = Db::connect(&Options::new(format!("{through_proxy}?sslmode=disable"))).await.unwrap();
    let attempts = &AtomicU32::new(0);
    let outcome = db.transact(|tx| {
        async move {
            attempts.fetch_add(1, Ordering::SeqCst);
            set_variable(tx, "key", "value").await
        }
        .scope_boxed()
    });
    assert!(matches!(outcome.await, Err(Error::OutcomeUnknown(_))));
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
}

/// A proxy that hangs up when a client asks to commit.
async fn cut_at_commit(server_port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", server_port)).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            tokio::spawn(async move {
                let mut buffer = [0; 8192];
                while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
                    if buffer[..length].windows(6).any(|text| text == b"COMMIT") {
                        return;
                    }
                    to_server.write_all(&buffer[..length]).await.unwrap();
                }
            });
        }
    });
    port
}
