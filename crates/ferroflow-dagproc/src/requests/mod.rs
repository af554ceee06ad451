//! What user code may ask while a DAG file is parsed or a callback runs.
//!
//! Each message is a typed request (`message`), which a method of [`Requests`] answers with a typed result; only
//! [`Requests::answer`] knows how both look in a frame. The answers are those of Airflow's Execution API, as its
//! supervisor hands them on.

mod connection_text;
mod instances;
mod masker;
pub mod message;
mod refusal;
mod runs;
mod secrets;
mod value;
mod variables;
mod xcoms;

use std::sync::Arc;

use ferroflow_config::Environment;
use ferroflow_db::Db;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_python::{Answer, Answers};
use rmpv::Value;
use serde::de::DeserializeOwned;

pub use masker::{MaskRules, Masker};
pub use refusal::Refusal;
pub use secrets::{Asked, SecretsBackend};
pub use xcoms::Slice;

/// Answers requests from the metadata database, and from what stands before it.
#[derive(Clone)]
pub struct Requests {
    /// The metadata database.
    pub db: Db,
    /// What encrypts variables and connections.
    pub fernet: Arc<Fernet>,
    /// Where `AIRFLOW_VAR_…` and `AIRFLOW_CONN_…` are.
    pub environment: Arc<Environment>,
    /// The backend of `[secrets] backend`, which is asked first.
    pub backend: Option<Arc<dyn SecretsBackend>>,
    /// Takes up every secret that passes.
    pub masker: Arc<Masker>,
}

impl Answers for Requests {
    /// The answer to the request of this `type`. There always is one: a child waits for it.
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let body = &body;
        let answered = match kind {
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
            "GetXComCount" => self.get_xcom_count(kind, body).await,
            "GetXComSequenceItem" => self.get_xcom_sequence_item(kind, body).await,
            "GetXComSequenceSlice" => self.get_xcom_sequence_slice(kind, body).await,
            "GetTICount" => self.get_ti_count(kind, body).await,
            "GetTaskStates" => self.get_task_states(kind, body).await,
            "GetPreviousTI" => self.get_previous_ti(kind, body).await,
            "GetPreviousDagRun" => self.get_previous_dag_run(kind, body).await,
            "GetPrevSuccessfulDagRun" => self.get_previous_success(kind, body).await,
            _ => Err(Refusal::Unhandled),
        };
        answered.unwrap_or_else(|refusal| {
            tracing::warn!(request = kind, error = %refusal.chain(), "a request of user code failed");
            refusal.into_answer()
        })
    }
}

/// Reads a request. Airflow leaves one that it cannot read without an answer, and the child waiting.
fn read<T: DeserializeOwned>(kind: &str, body: &Value) -> Result<T, Refusal> {
    rmpv::ext::from_value(body.clone())
        .map_err(|error| Refusal::Unreadable { kind: kind.to_owned(), problem: error.to_string() })
}
