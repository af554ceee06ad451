//! Connections that somebody wants to be tried: what the process asks that tries one, and what it tells.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_db::connection::test_request::{self, AskedTest};
use ferroflow_db::connection::{self, Connection};
use ferroflow_db::{ScopedFutureExt as _, Tx};
use ferroflow_python::Answers;
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use rmpv::Value;
use serde::Deserialize;
use uuid::Uuid;

use crate::patience::{Requests, ask_patiently};
use crate::task::LIMIT;
use crate::value::{body, optional};
use crate::{Answer, Asker, Refusal, Service, read};

/// As much of a message as its column takes.
const MAX_MESSAGE_LENGTH: usize = 2000;

/// What came of a test, as its process told it.
#[derive(Clone, Debug, Deserialize)]
struct ConnectionTestResult {
    state: String,
    result_message: Option<String>,
}

/// Answers the messages of a process that tries a connection.
#[derive(Clone)]
pub struct ConnectionTestRequests {
    /// What answers.
    pub service: Service,
    /// The test.
    pub test: Uuid,
    /// What its process told.
    pub told: ToldTest,
}

/// What the process of a test told, also if that is not stored yet.
#[derive(Clone, Debug, Default)]
pub struct ToldTest(Arc<Mutex<Option<TestOutcome>>>);

/// What came of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// Whether the connection is good.
    pub is_good: bool,
    /// What is said of that.
    pub message: Option<String>,
}

impl ToldTest {
    /// What it told first, if it told anything.
    pub fn outcome(&self) -> Option<TestOutcome> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<TestOutcome>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for ConnectionTestRequests {
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = ask_patiently(self, kind, &body, LIMIT).await;
        let asker = || Asker::errand("connection test", self.test);
        answered.unwrap_or_else(|refusal| refusal.told(kind, "API_SERVER_ERROR", &asker()))
    }
}

impl Requests for ConnectionTestRequests {
    fn service(&mut self) -> &mut Service {
        &mut self.service
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        match kind {
            "GetTestedConnection" => self.service.tested_connection(self.test).await.map(tested),
            "ConnectionTestResult" => self.tell(kind, body).await,
            _ => Err(Refusal::Unhandled),
        }
    }
}

impl ConnectionTestRequests {
    async fn tell(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let result: ConnectionTestResult = read(kind, message)?;
        let is_good = match result.state.as_str() {
            "success" => true,
            "failed" => false,
            _ => {
                return Err(Refusal::Invalid {
                    kind: "ConnectionTestResult",
                    field: "state",
                    value: result.state,
                    expected: "give success or failed",
                });
            }
        };
        let outcome = TestOutcome { is_good, message: result.result_message };
        self.told.lock().get_or_insert_with(|| outcome.clone());
        self.service.end_connection_test(self.test, &outcome).await?;
        Ok(Answer::Done)
    }
}

impl Service {
    /// What a test is to try. It can be had once: the test runs from then on.
    pub async fn tested_connection(&self, id: Uuid) -> Result<Connection, Refusal> {
        let now = clock::now();
        let begun = self.db.transact(|tx| {
            async move {
                let has_begun = test_request::begin(tx, id, now).await?;
                Ok((has_begun, test_request::find(tx, &self.fernet, id).await?))
            }
            .scope_boxed()
        });
        match begun.await? {
            (_, None) => Err(missing(id)),
            (false, Some(AskedTest { state, .. })) => Err(Refusal::api(
                409,
                "conflict",
                format!("The connection test {id} is {state}: what it tries can be had once, before that."),
            )),
            (true, Some(AskedTest { connection, .. })) => {
                for secret in [&connection.password, &connection.extra].into_iter().flatten() {
                    self.masker.add(&secret.as_str().into(), None);
                }
                Ok(connection)
            }
        }
    }

    /// Notes what came of a test. A connection that is good is stored, if that was asked for.
    pub async fn end_connection_test(&self, id: Uuid, outcome: &TestOutcome) -> Result<(), Refusal> {
        let (now, is_good) = (clock::now(), outcome.is_good);
        let shortened = |message: &String| message.chars().take(MAX_MESSAGE_LENGTH).collect::<String>();
        let message = outcome.message.as_ref().map(shortened);
        let message = message.as_deref();
        let ended = self.db.transact(|tx| self.end_test(tx, id, is_good, message, now).scope_boxed());
        match ended.await? {
            Ended::Noted => Ok(()),
            Ended::Missing => Err(missing(id)),
            Ended::Before(state) => {
                Err(Refusal::api(409, "conflict", format!("The connection test {id} has ended: {state}.")))
            }
        }
    }

    async fn end_test(
        &self,
        tx: &mut Tx,
        id: Uuid,
        is_good: bool,
        message: Option<&str>,
        now: Timestamp,
    ) -> Result<Ended, ferroflow_db::Error> {
        let is_noted = test_request::end(tx, id, is_good, message, now).await?;
        let Some(asked) = test_request::find(tx, &self.fernet, id).await? else {
            return Ok(Ended::Missing);
        };
        if !is_noted {
            return Ok(Ended::Before(asked.state));
        }
        if is_good && asked.commit_on_success {
            connection::store_tested(tx, &self.fernet, &asked.connection, now).await?;
            tracing::info!(connection = asked.connection.conn_id, "a connection is good, and is stored");
        }
        Ok(Ended::Noted)
    }
}

/// Whether the end of a test was noted.
enum Ended {
    Noted,
    Missing,
    Before(String),
}

fn missing(id: Uuid) -> Refusal {
    Refusal::api(404, "not_found", format!("There is no connection test {id}."))
}

fn tested(connection: Connection) -> Answer {
    body(
        "TestedConnection",
        [
            ("conn_id", connection.conn_id.into()),
            ("conn_type", connection.conn_type.into()),
            ("host", optional(connection.host)),
            ("login", optional(connection.login)),
            ("password", optional(connection.password)),
            ("schema", optional(connection.schema)),
            ("port", optional(connection.port)),
            ("extra", optional(connection.extra)),
        ],
    )
}
