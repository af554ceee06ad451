//! What the process asks that tests a connection, and what it reports.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferroflow_python::{Answer, Answers};
use rmpv::Value;
use serde::Deserialize;
use uuid::Uuid;

use super::client::Client;
use super::repeat::{LIMIT, Requests, answer_patiently};
use super::value::{body, optional};
use super::{Asker, read};
use crate::Refusal;
use crate::api::{ConnectionResponse, ExecutionApi, TestOutcome};

/// What came of a test, as its process reports it.
#[derive(Clone, Debug, Deserialize)]
struct ConnectionTestResult {
    state: String,
    result_message: Option<String>,
}

/// Answers the messages of a process that tests a connection.
#[derive(Clone)]
pub struct ConnectionTestRequests {
    pub client: Client,
    pub test: Uuid,
    /// What its process reported.
    pub reported: ReportedTest,
}

/// What the process of a test reported, also if that is not stored yet.
#[derive(Clone, Debug, Default)]
pub struct ReportedTest(Arc<Mutex<Option<TestOutcome>>>);

impl ReportedTest {
    /// What it reported first, if it reported anything.
    pub fn outcome(&self) -> Option<TestOutcome> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<TestOutcome>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers for ConnectionTestRequests {
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = answer_patiently(self, kind, &body, LIMIT).await;
        let asker = || Asker::errand("connection test", self.test);
        answered.unwrap_or_else(|refusal| refusal.logged_answer(kind, "API_SERVER_ERROR", &asker()))
    }
}

impl Requests for ConnectionTestRequests {
    fn api(&mut self) -> &mut Arc<dyn ExecutionApi> {
        &mut self.client.api
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        match kind {
            "GetTestedConnection" => {
                let connection = self.client.api.tested_connection(self.test).await?;
                self.client.mask_connection(&connection);
                Ok(tested(connection))
            }
            "ConnectionTestResult" => self.report(kind, body).await,
            _ => Err(Refusal::Unhandled),
        }
    }
}

impl ConnectionTestRequests {
    async fn report(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
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
        self.reported.lock().get_or_insert_with(|| outcome.clone());
        self.client.api.end_connection_test(self.test, &outcome).await?;
        Ok(Answer::Done)
    }
}

fn tested(connection: ConnectionResponse) -> Answer {
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
