//! Schedulers take turns in the critical section, the official one among them.
//!
//! Beside each other they can only work on PostgreSQL and MySQL 8: on MariaDB the official scheduler locks nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::{ScopedFutureExt as _, pool};
use ferroflow_scheduler::queue_tasks::TaskQueue;
use ferroflow_testkit::{Airflow, Server};
use tokio::sync::Notify;

use crate::tasks::place::{NOW, Place, Sketched, local};

const SCRIPT: &str = "testdata/admission/official_section.py";

#[tokio::test]
async fn we_wait_for_the_official_scheduler() {
    let place = with_one_that_waits().await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.sweep(&cx, NOW).await.unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let (held, release) = (folder.path().join("held"), folder.path().join("release"));
    let official = tokio::spawn(official(&place, vec!["hold".into(), held.clone(), release.clone()]));
    while !held.exists() {
        assert!(!official.is_finished(), "the official scheduler did not enter the section");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let beside = queue.queue(&cx, &local(8), NOW).await.unwrap();
    std::fs::write(&release, "").unwrap();
    assert_eq!(official.await.unwrap(), "released");
    assert!(beside.is_busy && beside.is_worth_repeating && beside.queued.is_empty(), "{beside:?}");
    let alone = queue.queue(&cx, &local(8), NOW).await.unwrap();
    assert_eq!((alone.is_busy, alone.queued.len()), (false, 1));
}

#[tokio::test]
async fn the_official_scheduler_waits_for_us() {
    let place = with_one_that_waits().await;
    let (held, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let holder = tokio::spawn({
        let (db, held, release) = (place.db.clone(), Arc::clone(&held), Arc::clone(&release));
        async move {
            let (held, release) = (&held, &release);
            let work = db.transact(|tx| {
                async move {
                    assert!(pool::lock_all(tx).await?.is_some());
                    held.notify_one();
                    release.notified().await;
                    Ok(())
                }
                .scope_boxed()
            });
            work.await.unwrap();
        }
    });
    held.notified().await;
    assert_eq!(official(&place, vec!["enter".into()]).await, "busy");
    release.notify_one();
    holder.await.unwrap();
    assert_eq!(official(&place, vec!["enter".into()]).await, "1 to queue");
}

async fn with_one_that_waits() -> Place {
    let place = Place::new(Server::Postgres).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    place.add(&[Sketched::new("dag", "run", "task")]).await;
    place
}

/// The last line that the official scheduler prints.
fn official(place: &Place, arguments: Vec<PathBuf>) -> impl Future<Output = String> + use<> {
    let airflow = Airflow::on(&place.database.url());
    async move {
        let ran = tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
            airflow.python(SCRIPT, &arguments, "").expect_success()
        });
        ran.await.unwrap().lines().last().unwrap_or_default().to_owned()
    }
}
