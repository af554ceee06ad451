//! What user code may ask while a DAG file is parsed or a callback runs.

use std::time::Duration;

use ferroflow_python::Answers;
use rmpv::Value;

use crate::patience::{Requests, ask_patiently};
use crate::sdk::SdkVersion;
use crate::{Answer, Asker, Refusal, Service, message, read};

/// So long a request is tried anew while the database does not answer: less than a file may take to be parsed. An import
/// error that is there because a database was restarted helps nobody.
const LIMIT: Duration = Duration::from_secs(20);

/// Answers the messages that a child of the DAG processor sends.
#[derive(Clone)]
pub struct ParsingRequests {
    /// What answers.
    pub service: Service,
    /// Whose requests they are.
    pub asker: Asker,
}

impl Answers for ParsingRequests {
    /// The answer to the request of this `type`. There always is one: a child waits for it.
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let answered = ask_patiently(self, kind, &body, LIMIT).await;
        answered.unwrap_or_else(|refusal| refusal.told(kind, "GENERIC_ERROR", &self.asker))
    }
}

impl Requests for ParsingRequests {
    fn service(&mut self) -> &mut Service {
        &mut self.service
    }

    async fn answered(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        self.service.answer_common(kind, body).await
    }
}

impl Service {
    /// The answer to what any user code may ask, in a DAG file or in a task.
    pub(crate) async fn answer_common(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        match kind {
            "GetConnection" => self.get_connection(kind, body).await,
            "GetVariable" => self.get_variable(kind, body).await,
            "GetVariableKeys" => self.get_variable_keys(kind, body).await,
            "PutVariable" => self.set_variable(kind, body).await,
            "DeleteVariable" => self.unset_variable(kind, body).await,
            "MaskSecret" => read::<message::MaskSecret>(kind, body).map(|request| {
                self.masker.add(&request.value, request.name.as_deref());
                Answer::Done
            }),
            "GetXCom" => self.get_xcom(kind, body).await,
            "GetXComCount" => self.get_xcom_count(kind, body, SdkVersion::CURRENT).await,
            "GetXComSequenceItem" => self.get_xcom_sequence_item(kind, body).await,
            "GetXComSequenceSlice" => self.get_xcom_sequence_slice(kind, body).await,
            "GetTICount" => self.get_ti_count(kind, body).await,
            "GetTaskStates" => self.get_task_states(kind, body).await,
            "GetPreviousTI" => self.get_previous_ti(kind, body).await,
            "GetPreviousDagRun" => self.get_previous_dag_run(kind, body, SdkVersion::CURRENT).await,
            "GetPrevSuccessfulDagRun" => self.get_previous_success(kind, body).await,
            _ => Err(Refusal::Unhandled),
        }
    }
}
