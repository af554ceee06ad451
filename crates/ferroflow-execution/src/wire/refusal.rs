//! A refusal as user code gets it: an error that is raised where it asked.

use ferroflow_python::Answer;
use ferroflow_python::message::from_json;
use ferroflow_telemetry::chain;
use rmpv::Value;
use uuid::Uuid;

use super::value::{error_response, map, optional};
use crate::Refusal;

/// Whose request it was, as far as that is known, as logs name it.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    pub dag_id: Option<String>,
    pub run_id: Option<String>,
    pub task_id: Option<String>,
    pub map_index: Option<i32>,
    pub try_number: Option<i32>,
    /// What is no task: a DAG file, a callback, a connection test.
    pub errand: Option<String>,
}

impl Asker {
    /// Something that is no task.
    pub(super) fn errand(what: &str, id: Uuid) -> Self {
        Self { errand: Some(format!("{what} {id}")), ..Self::default() }
    }
}

impl Refusal {
    /// The answer to a message of this kind, which is logged. What cannot be read or is not known at all is answered with
    /// the type of error `not_understood`.
    pub fn logged_answer(self, kind: &str, not_understood: &str, asker: &Asker) -> Answer {
        let Asker { dag_id, run_id, task_id, map_index, try_number, errand } = asker;
        tracing::warn!(
            dag_id,
            run_id,
            task_id,
            map_index,
            try_number,
            errand,
            request = kind,
            error = chain(&self),
            "a request of user code failed"
        );
        self.into_answer(not_understood)
    }

    fn into_answer(self, not_understood: &str) -> Answer {
        let message = chain(&self);
        let status = self.status();
        let reason = match self {
            Self::Api { status, detail } => return server_error(status.into(), from_json(detail)),
            Self::Unhandled | Self::Unreadable { .. } => {
                let detail = map([("status_code", 400.into()), ("message", message.into())]);
                return Answer::Error(error_response(not_understood, detail));
            }
            Self::Unsendable(_) => return client_error(message, "ValueError"),
            Self::Unavailable { .. } => return client_error(message, "ConnectError"),
            Self::NotFound(_) => "not_found",
            Self::Invalid { .. } => "invalid_value",
            Self::Stored { .. } => "unreadable_value",
            Self::Database(_) => "database_error",
        };
        let cause = map([("reason", reason.into()), ("message", message.into())]);
        server_error(optional(status), cause)
    }
}

/// What the official supervisor makes of an error of the API.
fn server_error(status: Value, cause: Value) -> Answer {
    let detail = map([
        ("status_code", status),
        ("message", "Server returned error".into()),
        ("detail", map([("detail", cause)])),
    ]);
    Answer::Error(error_response("API_SERVER_ERROR", detail))
}

/// What it makes of an error on the way there.
fn client_error(message: String, exception_type: &str) -> Answer {
    let detail = map([
        ("status_code", Value::Nil),
        ("message", message.into()),
        ("exception_type", exception_type.into()),
    ]);
    Answer::Error(error_response("API_SERVER_ERROR", detail))
}
