//! The answer to a commit is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ferroflow_db::{Db, Error as DbError, Options};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::Error;
use ferroflow_scheduler::queue_tasks::TaskQueue;
use ferroflow_testkit::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::tasks::place::{NOW, Place, Sketched, local};

/// The rows of a pass are queued, and nobody was told: the next pass finds them, or nobody would ever run them.
#[tokio::test]
async fn what_was_queued_without_an_answer_is_handed_on_by_the_next_pass() {
    let place = Place::new(Server::Postgres).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    let added = place.add(&[Sketched::new("dag", "run", "a"), Sketched::new("dag", "run", "b")]).await;
    let url = ferroflow_db::DatabaseUrl::parse(&place.database.url()).unwrap();
    let (port, cuts) = cut_after_commit(url.port.unwrap()).await;
    let through = place.database.url().replace(&format!(":{}/", url.port.unwrap()), &format!(":{port}/"));
    let mut cx = place.scheduler(7).await;
    cx.db = Db::connect(&Options::new(format!("{through}?sslmode=disable"))).await.unwrap();
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    cuts.store(true, Ordering::SeqCst);
    let outcome = queue.queue(&cx, &local(1), NOW).await;
    assert!(matches!(outcome, Err(Error::Db(DbError::OutcomeUnknown(_)))), "{outcome:?}");
    cuts.store(false, Ordering::SeqCst);
    // The server may still be about to commit.
    while place.find(added[0]).await.state != Some(TaskState::Queued) {
        tokio::task::yield_now().await;
    }
    let pass = queue.queue(&cx, &local(1), NOW).await.unwrap();
    let queued: Vec<_> = pass.queued.iter().map(|one| one.row.id).collect();
    assert!(queued.contains(&added[0]), "{queued:?}");
    assert_eq!(place.find(added[0]).await.queued_by_job_id, Some(7));
    let rest = queue.queue(&cx, &local(8), NOW).await.unwrap();
    let all: Vec<_> = queued.into_iter().chain(rest.queued.iter().map(|one| one.row.id)).collect();
    assert_eq!((all.len(), all.contains(&added[1])), (2, true), "each once: {all:?}");
}

/// A proxy that hangs up, while it is told to, once it has handed on that a client wants to commit.
async fn cut_after_commit(server_port: u16) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let cuts = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&cuts);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", server_port)).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            let mut answers =
                tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            let told = Arc::clone(&told);
            tokio::spawn(async move {
                let mut buffer = [0; 8192];
                while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
                    let is_commit = buffer[..length].windows(6).any(|text| text == b"COMMIT");
                    if is_commit && told.load(Ordering::SeqCst) {
                        answers.abort();
                        let _ = (&mut answers).await;
                    }
                    to_server.write_all(&buffer[..length]).await.unwrap();
                    if is_commit && told.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
    });
    (port, cuts)
}
