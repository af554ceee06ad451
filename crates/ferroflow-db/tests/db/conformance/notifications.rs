//! What a transaction tells is heard once it is committed, and not before.

use std::time::Duration;

use ferroflow_db::notifications::{self, Notification, triggers};
use ferroflow_db::{Db, Error, ScopedFutureExt as _, testing};
use ferroflow_testkit::{Server, TestDb};
use tokio::sync::broadcast::error::TryRecvError;

ferroflow_testkit::on_every_database!(news_are_heard_after_the_commit, news_of_what_was_undone_are_not_heard);

async fn tell(db: &Db, notifications: &Notification) {
    db.transact(|tx| async move { notifications::notify(tx, notifications.clone()).await }.scope_boxed())
        .await
        .unwrap();
}

async fn news_are_heard_after_the_commit(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let mut heard = db.notifications();
    tell(&db, &Notification::Assets).await;
    assert_eq!(heard.try_recv(), Ok(Notification::Assets));
    assert_eq!(heard.try_recv(), Err(TryRecvError::Empty));
}

async fn news_of_what_was_undone_are_not_heard(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let mut heard = db.notifications();
    let undone = db.rehearse(|tx| notifications::notify(tx, Notification::Queued).scope_boxed());
    undone.await.unwrap();
    let failed: Result<(), Error> = db
        .transact(|tx| {
            async move {
                notifications::notify(tx, Notification::Queued).await?;
                Err(Error::Aborted("a test".to_owned()))
            }
            .scope_boxed()
        })
        .await;
    failed.unwrap_err();
    assert_eq!(heard.try_recv(), Err(TryRecvError::Empty));
}

/// The next news of a kind that is not "anything".
async fn next(heard: &mut notifications::Receiver) -> Notification {
    let limit = Duration::from_mins(1);
    loop {
        match tokio::time::timeout(limit, heard.recv()).await.expect("somebody tells").unwrap() {
            Notification::Missed => {}
            notifications => return notifications,
        }
    }
}

#[tokio::test]
async fn another_process_hears_what_is_told_and_what_triggers_tell() {
    let database = TestDb::migrated(Server::Postgres).await;
    let (db, other) = (database.connect().await, database.connect().await);
    let mut heard = db.notifications();
    let listening = tokio::spawn(notifications::listen(db.clone()));
    // From then on it listens.
    assert_eq!(heard.recv().await, Ok(Notification::Missed));
    let run = Notification::Run { dag_id: "a \"dag\"".to_owned(), run_id: "a run".to_owned() };
    tell(&other, &run).await;
    assert_eq!(next(&mut heard).await, run);
    // What it tells itself, it hears once.
    tell(&db, &Notification::Assets).await;
    tell(&other, &Notification::Dags).await;
    assert_eq!((next(&mut heard).await, next(&mut heard).await), (Notification::Assets, Notification::Dags));

    triggers::install(&db).await.unwrap();
    // Ours tell by themselves.
    testing::change(&other, "UPDATE slot_pool SET slots = 7").await.unwrap();
    tell(&other, &Notification::Dags).await;
    assert_eq!(next(&mut heard).await, Notification::Dags);
    database.execute("UPDATE slot_pool SET slots = 8").await;
    assert_eq!(next(&mut heard).await, Notification::Slots);
    // Once more replaces them.
    triggers::install(&db).await.unwrap();
    let count = |db: &Db| {
        let db = db.clone();
        async move { db.read(|tx| triggers::installed(tx).scope_boxed()).await.unwrap().len() }
    };
    assert_eq!(count(&db).await, 12);
    triggers::remove(&db).await.unwrap();
    assert_eq!(count(&db).await, 0);
    listening.abort();
}
