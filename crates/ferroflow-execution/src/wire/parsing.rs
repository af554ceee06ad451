//! What user code may ask while a DAG file is parsed or a callback of the DAG processor runs.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_python::{Answer, Answers};
use rmpv::Value;

use super::Asker;
use super::client::Client;
use super::repeat::{Requests, answer_patiently};
use crate::Refusal;
use crate::api::ExecutionApi;

/// How long a request is repeated while the API does not answer: less than a file may take to be parsed. An import
/// error that is there because a database was restarted helps no one.
const LIMIT: Duration = Duration::from_secs(20);

/// Answers the messages that a child of the DAG processor sends.
#[derive(Clone)]
pub struct ParsingRequests {
    pub client: Client,
    /// Whose requests they are.
    pub asker: Asker,
}

impl Answers for ParsingRequests {
    /// The answer to the request of this `type`. There always is one: a child waits for it.
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = answer_patiently(self, kind, &body, LIMIT).await;
        answered.unwrap_or_else(|refusal| refusal.logged_answer(kind, "GENERIC_ERROR", &self.asker))
    }
}

impl Requests for ParsingRequests {
    fn api(&mut self) -> &mut Arc<dyn ExecutionApi> {
        &mut self.client.api
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        self.client.answer_common(kind, body).await
    }
}
