//! What callbacks may ask while an executor runs them.

use std::sync::Arc;

use ferroflow_python::{Answer, Answers};
use rmpv::Value;
use uuid::Uuid;

use super::Asker;
use super::client::Client;
use super::repeat::{LIMIT, Requests, answer_patiently};
use crate::Refusal;
use crate::api::ExecutionApi;

/// Answers the messages that a callback sends while an executor runs it.
#[derive(Clone)]
pub struct CallbackRequests {
    pub client: Client,
    pub callback: Uuid,
}

impl Answers for CallbackRequests {
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = answer_patiently(self, kind, &body, LIMIT).await;
        let asker = || Asker::errand("callback", self.callback);
        answered.unwrap_or_else(|refusal| refusal.logged_answer(kind, "API_SERVER_ERROR", &asker()))
    }
}

impl Requests for CallbackRequests {
    fn api(&mut self) -> &mut Arc<dyn ExecutionApi> {
        &mut self.client.api
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        match kind {
            "GetConnection" | "GetVariable" | "GetVariableKeys" | "MaskSecret" => {
                self.client.answer_common(kind, body).await
            }
            _ => Err(Refusal::Unhandled),
        }
    }
}
