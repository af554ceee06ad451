//! Why a request is not answered as its sender hoped.

use ferroflow_db::BadRow;
use ferroflow_python::message::from_json;
use ferroflow_telemetry::chain;
use rmpv::Value;
use uuid::Uuid;

use crate::Answer;
use crate::value::{error_response, map, optional};

/// Why a request has no result. Its sender is told by an error that is raised there.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such request, or not for this user code.
    #[error("Unhandled request")]
    Unhandled,
    /// The message is not what its type says.
    #[error("{kind} cannot be read: {problem}")]
    Unreadable {
        /// The type of the message.
        kind: String,
        /// What is wrong with it.
        problem: String,
    },
    /// What the request is about does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A value outside its range or its set of words.
    #[error("{field} of {kind} is {value}; {expected}")]
    Invalid {
        /// The type of the message.
        kind: &'static str,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: String,
        /// What it may hold.
        expected: &'static str,
    },
    /// What the Execution API refuses with a status of its own; `detail` is what its answer holds under that name.
    #[error("{detail}")]
    Api {
        /// The status of HTTP.
        status: u16,
        /// A map with `reason` and `message`, or a text.
        detail: serde_json::Value,
    },
    /// What Airflow's client refuses to send to its API: the message cannot be put into a request.
    #[error("{0}")]
    Unsendable(String),
    /// A stored value that cannot be read.
    #[error("{what} cannot be read")]
    Stored {
        /// Which value.
        what: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The metadata database did not answer.
    #[error("the metadata database did not answer")]
    Database(#[from] ferroflow_db::Error),
}

/// Whose request it was, as far as that is known, as logs name it.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// The DAG.
    pub dag_id: Option<String>,
    /// The run.
    pub run_id: Option<String>,
    /// The task.
    pub task_id: Option<String>,
    /// Which of its mapped copies.
    pub map_index: Option<i32>,
    /// Which try.
    pub try_number: Option<i32>,
    /// What is no task: a DAG file, a callback, a test of a connection.
    pub errand: Option<String>,
}

impl Asker {
    /// Something that is no task.
    pub(crate) fn errand(what: &str, id: Uuid) -> Self {
        Self { errand: Some(format!("{what} {id}")), ..Self::default() }
    }
}

impl Refusal {
    /// A refusal as most routes of the Execution API give it: a word for programs, a sentence for people.
    pub fn api(status: u16, reason: &str, message: impl Into<String>) -> Self {
        Self::Api { status, detail: serde_json::json!({"reason": reason, "message": message.into()}) }
    }

    /// That a task instance meddles with what is another's.
    pub(crate) fn of_another() -> Self {
        Self::Api { status: 403, detail: "Token subject does not match task instance ID".into() }
    }

    /// The sentence for people, without the word for programs.
    pub fn sentence(&self) -> String {
        match self {
            Self::Api { detail, .. } => {
                let message = detail.get("message").unwrap_or(detail);
                message.as_str().map_or_else(|| message.to_string(), str::to_owned)
            }
            other => chain(other),
        }
    }

    /// The status that the Execution API answers with.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api { status, .. } => Some(*status),
            Self::Unhandled | Self::Unreadable { .. } => Some(400),
            Self::NotFound(_) => Some(404),
            Self::Invalid { .. } => Some(422),
            Self::Database(error) if error.is_about_data() => Some(422),
            Self::Stored { .. } | Self::Database(_) => Some(500),
            Self::Unsendable(_) => None,
        }
    }

    /// Whether trying again soon may help: the database did not answer, or cannot do it now.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient()) || self.is_outcome_unknown()
    }

    /// Whether others have locked a row that it needs.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_busy())
    }

    /// Whether trying again may help one day: what is wrong is wrong with the database, not with what it is told.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Database(error) if error.may_pass())
    }

    /// The row that cannot be read, if that is why. Somebody may mend it.
    pub fn bad_row(&self) -> Option<&BadRow> {
        match self {
            Self::Database(ferroflow_db::Error::Column(bad)) => Some(bad),
            _ => None,
        }
    }

    /// Whether it is for now that it is refused: neither what is told nor what it is told of is at fault for good.
    pub fn is_for_now(&self) -> bool {
        self.may_pass() || self.bad_row().is_some()
    }

    /// Whether what was asked for may have been done all the same: the connection broke while that was being made
    /// permanent.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Database(ferroflow_db::Error::OutcomeUnknown(_)))
    }

    /// The answer for whoever sent a message of this kind, and a word in the log. What cannot be read or is not
    /// known at all is answered with this type of error.
    pub fn told(self, kind: &str, not_understood: &str, asker: &Asker) -> Answer {
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
            Self::Unsendable(_) => {
                let detail = map([
                    ("status_code", Value::Nil),
                    ("message", message.into()),
                    ("exception_type", "ValueError".into()),
                ]);
                return Answer::Error(error_response("API_SERVER_ERROR", detail));
            }
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
