//! The locks by which schedulers share a database.

use ferroflow_db::schema::{self, State};
use ferroflow_db::testing::lock_wait;
use ferroflow_db::{Db, ScopedFutureExt as _, dag_run, pool};
use std::sync::Arc;
use std::time::Duration;

use ferroflow_model::state::RunState;
use ferroflow_testkit::{Server, TestDb};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::conformance::{Gate, NOW, add_running_runs, get_variable, set_variable};

ferroflow_testkit::on_every_database!(
    each_row_is_shown_to_one_of_two_transactions,
    whoever_comes_second_to_the_pools_is_told_at_once,
    a_busy_lock_does_not_swallow_what_was_written_before,
);

/// Longer than any answer takes; a test that waits for a lock fails instead of hanging.
const AT_ONCE: Duration = Duration::from_secs(30);

async fn each_row_is_shown_to_one_of_two_transactions(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    add_running_runs(&db, 5).await;

    let gate = Arc::new(Gate::default());
    let first = tokio::spawn({
        let (db, gate) = (db.clone(), Arc::clone(&gate));
        async move { claim_and_finish(&db, 2, &gate).await }
    });
    gate.reached().await;

    // SQLite has one writer: the second transaction begins when the first has ended.
    let second = if server == Server::Sqlite {
        gate.open();
        claim(&db, 5).await
    } else {
        let second = timeout(AT_ONCE, claim(&db, 5)).await.expect("the second does not wait for the first");
        gate.open();
        second
    };
    let first = first.await.unwrap();

    assert_eq!((first.len(), second.len()), (2, 3));
    assert!(first.iter().all(|id| !second.contains(id)), "{first:?} {second:?}");
}

async fn whoever_comes_second_to_the_pools_is_told_at_once(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let (first, gate) = hold_pools(&db).await;

    if server == Server::Sqlite {
        gate.open();
        assert!(lock_pools(&db).await, "SQLite's second writer waits, and has the pools then");
    } else {
        let granted = timeout(AT_ONCE, lock_pools(&db)).await.expect("nobody waits for the pools");
        assert!(!granted, "the first still holds them");
        gate.open();
    }
    first.await.unwrap();
    assert!(lock_pools(&db).await, "the first has given them back");
}

/// On PostgreSQL a failed statement takes its transaction with it, and a commit would not tell.
async fn a_busy_lock_does_not_swallow_what_was_written_before(server: Server) {
    if server == Server::Sqlite {
        return a_reader_of_sqlite_does_not_wait_for_the_writer().await;
    }
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let (first, gate) = hold_pools(&db).await;
    let outcome = db.transact(|tx| {
        async move {
            set_variable(tx, "key", "value").await?;
            Ok(pool::lock_all(tx).await?.is_some())
        }
        .scope_boxed()
    });
    let outcome = outcome.await;
    gate.open();
    first.await.unwrap();
    let found = db.read(|tx| async move { get_variable(tx, "key").await }.scope_boxed()).await.unwrap();
    match outcome {
        Ok(is_locked) => assert_eq!((is_locked, found.as_deref()), (false, Some("value"))),
        Err(error) => assert_eq!((error.to_string().contains("nothing was written"), found), (true, None)),
    }
}

async fn a_reader_of_sqlite_does_not_wait_for_the_writer() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    let (first, gate) = hold_pools(&db).await;
    let state = timeout(AT_ONCE, schema::state(&db)).await.expect("the writer is not in the way").unwrap();
    assert_eq!(state, State::Current);
    gate.open();
    first.await.unwrap();
}

#[tokio::test]
async fn without_row_locks_nobody_waits_or_is_turned_away() {
    for server in [Server::Postgres, Server::MariaDb] {
        let database = TestDb::migrated(server).await;
        let options = ferroflow_db::Options { row_locks: false, ..database.options() };
        let db = Db::connect(&options).await.unwrap();
        let (first, gate) = hold_pools(&db).await;
        assert!(timeout(AT_ONCE, lock_pools(&db)).await.expect("there is no lock to wait for"));
        gate.open();
        first.await.unwrap();
    }
}

#[tokio::test]
async fn each_transaction_on_mariadb_has_a_patience_of_its_own() {
    let database = TestDb::migrated(Server::MariaDb).await;
    let options = ferroflow_db::Options { pool_size: 1, max_overflow: 0, ..database.options() };
    let db = Db::connect(&options).await.unwrap();
    let scheduler = db.with_lock_patience(Duration::from_secs(1));
    let again = scheduler.in_turn(&CancellationToken::new());
    for _ in 0..2 {
        for (db, expected) in [(&db, ["3", "3"]), (&scheduler, ["1", "1"]), (&again, ["1", "1"])] {
            let whole = db.transact(|tx| async move { lock_wait(tx).await }.scope_boxed()).await.unwrap();
            let parts =
                db.transact_in_parts(|tx| async move { lock_wait(tx).await }.scope_boxed()).await.unwrap();
            assert_eq!([whole, parts], expected);
        }
    }
}

/// Of those who ask again for what was locked a few have a turn, and the others when these are done, or at once when there
/// is a hurry.
#[tokio::test]
async fn who_has_met_a_lock_asks_again_in_turn() {
    let database = TestDb::migrated(Server::Postgres).await;
    let db = database.connect().await.with_lock_patience(Duration::from_secs(1));
    let hurry = CancellationToken::new();
    let again = db.in_turn(&hurry);
    let mut turns = Vec::new();
    for _ in 0..3 {
        turns.push(pass_gate(&again).await);
    }
    let write = || again.transact(|_| async { Ok(()) }.scope_boxed());
    assert!(timeout(Duration::from_millis(50), write()).await.is_err());
    timeout(AT_ONCE, again.read(|_| async { Ok(()) }.scope_boxed())).await.expect("no turn").unwrap();
    let (turn, gate) = turns.pop().unwrap();
    gate.open();
    turn.await.unwrap();
    timeout(AT_ONCE, write()).await.expect("one turn is over").unwrap();
    turns.push(pass_gate(&again).await);
    hurry.cancel();
    timeout(AT_ONCE, write()).await.expect("nobody waits in a hurry").unwrap();
    for (turn, gate) in turns {
        gate.open();
        turn.await.unwrap();
    }
}

/// A transaction that has begun, and ends when the gate is opened.
async fn pass_gate(db: &Db) -> (tokio::task::JoinHandle<()>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let passing = tokio::spawn({
        let (db, gate) = (db.clone(), Arc::clone(&gate));
        async move {
            let gate = &gate;
            db.transact(|_| {
                async move {
                    gate.pass().await;
                    Ok(())
                }
                .scope_boxed()
            })
            .await
            .unwrap();
        }
    });
    gate.reached().await;
    (passing, gate)
}

/// Another transaction that holds the pools until the gate is opened.
async fn hold_pools(db: &Db) -> (tokio::task::JoinHandle<()>, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let holder = tokio::spawn({
        let (db, gate) = (db.clone(), Arc::clone(&gate));
        async move {
            let gate = &gate;
            let held = db.transact(|tx| {
                async move {
                    assert!(pool::lock_all(tx).await?.is_some());
                    gate.pass().await;
                    Ok(())
                }
                .scope_boxed()
            });
            held.await.unwrap();
        }
    });
    gate.reached().await;
    (holder, gate)
}

async fn lock_pools(db: &Db) -> bool {
    db.transact(|tx| async move { Ok(pool::lock_all(tx).await?.is_some()) }.scope_boxed()).await.unwrap()
}

async fn claim(db: &Db, limit: i64) -> Vec<i64> {
    let claimed =
        db.transact(|tx| async move { dag_run::claim_running(tx, limit).await }.scope_boxed()).await.unwrap();
    claimed.into_iter().map(|run| run.id).collect()
}

/// Claims runs and ends them, and commits when the gate is opened.
async fn claim_and_finish(db: &Db, limit: i64, gate: &Gate) -> Vec<i64> {
    let claimed = db.transact(|tx| {
        async move {
            let claimed = dag_run::claim_running(tx, limit).await?;
            let ids: Vec<i64> = claimed.into_iter().map(|run| run.id).collect();
            for id in &ids {
                assert!(dag_run::set_state(tx, *id, RunState::Running, RunState::Success, NOW).await?);
            }
            gate.pass().await;
            Ok(ids)
        }
        .scope_boxed()
    });
    claimed.await.unwrap()
}
