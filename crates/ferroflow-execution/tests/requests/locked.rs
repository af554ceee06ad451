//! What is asked and told while others have locked the row that it needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ferroflow_db::connection::Connection;
use ferroflow_db::testing::{change_and_hold, texts};
use ferroflow_execution::api::TestOutcome;
use ferroflow_execution::wire::{ConnectionTestRequests, ReportedTest};
use ferroflow_execution::{InProcessApi, LOCK_PATIENCE, Service};
use ferroflow_operations::secrets::{BackendAnswer, SecretsBackend};
use ferroflow_python::{Answer, Answers as _};
use ferroflow_testkit::Server;
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use crate::seed::seeded;
use crate::{client, requests_of, service};

/// More than may ask for locked rows at a time.
const ASKERS: usize = 6;

/// Longer than anything takes here; a test that waits in vain fails instead of hanging.
const LIMIT: Duration = Duration::from_mins(1);

/// A secrets backend that answers somebody who asks for the second time when all others ask for the second time, too.
struct Slow {
    asked: AtomicUsize,
    all: Arc<Barrier>,
}

impl SecretsBackend for Slow {
    fn name(&self) -> &'static str {
        "Slow"
    }

    fn variable<'a>(&'a self, _: &'a str) -> BackendAnswer<'a, String> {
        Box::pin(async {
            if self.asked.fetch_add(1, Ordering::Relaxed) == 1 {
                self.all.wait().await;
            }
            Ok(None)
        })
    }

    fn connection<'a>(&'a self, _: &'a str) -> BackendAnswer<'a, Connection> {
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn nobody_waits_in_turn_for_a_secrets_backend() {
    let database = seeded(Server::Postgres).await;
    let (service, other) = (service(&database).await, database.connect().await);
    let service = Service { db: service.db.with_lock_patience(LOCK_PATIENCE), ..service };
    let (all, is_locked, may_end) = (Arc::new(Barrier::new(ASKERS + 1)), Notify::new(), Notify::new());
    let asking = async {
        is_locked.notified().await;
        let mut asking = JoinSet::new();
        for _ in 0..ASKERS {
            let backend = Slow { asked: AtomicUsize::default(), all: Arc::clone(&all) };
            let service = Service { backend: Some(Arc::new(backend)), ..service.clone() };
            let requests = requests_of(service);
            let put = packed(&json!({"type": "PutVariable", "key": "a_1", "value": "new"}));
            asking.spawn(async move { requests.answer("PutVariable", put).await });
        }
        timeout(LIMIT, all.wait()).await.expect("all of them ask at a time");
        may_end.notify_one();
        asking.join_all().await
    };
    let lock = "UPDATE variable SET description = 'locked' WHERE key = 'a_1'";
    let (held, answers) = tokio::join!(change_and_hold(&other, lock, &is_locked, &may_end), asking);
    held.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Answer::Done)), "{answers:?}");
}

#[tokio::test]
async fn what_a_connection_test_told_is_known_while_its_row_is_locked() {
    let database = seeded(Server::Postgres).await;
    let (service, other) = (service(&database).await, database.connect().await);
    let service = Service { db: service.db.with_lock_patience(LOCK_PATIENCE), ..service };
    let test = Uuid::from_u128(1);
    let row = format!(
        "INSERT INTO connection_test_request (id, token, connection_id, state, created_at, updated_at, conn_type, \
         is_encrypted, is_extra_encrypted) VALUES ('{test}', 't', 'c', 'running', now(), now(), 'http', false, false)"
    );
    database.execute(row).await;
    let (told, is_locked, may_end) = (ReportedTest::default(), Notify::new(), Notify::new());
    let client = client(InProcessApi::new(service.clone()));
    let requests = ConnectionTestRequests { client, test, reported: told.clone() };
    let telling = async {
        is_locked.notified().await;
        let result =
            json!({"type": "ConnectionTestResult", "state": "success", "result_message": "it is good"});
        // It is ended before the row is let go of.
        let telling = requests.answer("ConnectionTestResult", packed(&result));
        let until_told = async {
            while told.outcome().is_none() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            answer = telling => panic!("{answer:?}"),
            () = until_told => {}
        }
        may_end.notify_one();
    };
    let lock = "UPDATE connection_test_request SET updated_at = now()";
    let (held, ()) = tokio::join!(change_and_hold(&other, lock, &is_locked, &may_end), telling);
    held.unwrap();
    let outcome = told.outcome().unwrap();
    assert_eq!(outcome, TestOutcome { is_good: true, message: Some("it is good".to_owned()) });
    service.end_connection_test(test, &outcome).await.unwrap();
    let stored = "SELECT CONCAT(state, ': ', result_message) AS answer FROM connection_test_request";
    assert_eq!(texts(&service.db, stored).await.unwrap(), ["success: it is good"]);
}

fn packed(message: &Value) -> rmpv::Value {
    rmpv::ext::to_value(message).unwrap()
}
