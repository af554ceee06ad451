//! What answers user code.

use std::sync::Arc;

use ferroflow_python::Answer;
use rmpv::Value;

use super::message::MaskSecret;
use super::plain::plain;
use super::read;
use super::sdk::SdkVersion;
use crate::api::ExecutionApi;
use crate::{Masker, Refusal};

/// The API as user code is answered from it, and what keeps its secrets out of logs.
#[derive(Clone)]
pub struct Client {
    pub api: Arc<dyn ExecutionApi>,
    /// Learns every secret that is handed out.
    pub masker: Arc<Masker>,
}

impl Client {
    /// The answer to what any user code may ask, in a DAG file or in a task.
    pub(super) async fn answer_common(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        match kind {
            "GetConnection" => self.get_connection(kind, body).await,
            "GetVariable" => self.get_variable(kind, body).await,
            "GetVariableKeys" => self.get_variable_keys(kind, body).await,
            "PutVariable" => self.set_variable(kind, body).await,
            "DeleteVariable" => self.unset_variable(kind, body).await,
            "MaskSecret" => self.mask_secret(kind, body),
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

    fn mask_secret(&self, kind: &str, body: &Value) -> Result<Answer, Refusal> {
        let MaskSecret { value, name } = read(kind, body)?;
        self.masker.add(&plain(&value), name.as_deref());
        Ok(Answer::Done)
    }
}
