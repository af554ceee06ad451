//! Why a request is not answered as its sender hoped.

use std::error::Error as _;

use rmpv::Value;

use super::Answer;
use super::value::{error_response, map};

/// Why a request has no result. Its sender is told by an error that is raised there.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such request, or not for user code in a DAG processor.
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

impl Refusal {
    /// This and everything that led to it.
    pub(super) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        text
    }

    pub(super) fn into_answer(self) -> Answer {
        let message = self.chain();
        let (status, reason) = match self {
            Self::Unhandled | Self::Unreadable { .. } => {
                let detail = map([("status_code", 400.into()), ("message", message.into())]);
                return Answer::Error(error_response("GENERIC_ERROR", detail));
            }
            Self::NotFound(_) => (404, "not_found"),
            Self::Invalid { .. } => (422, "invalid_value"),
            Self::Stored { .. } => (500, "unreadable_value"),
            Self::Database(_) => (500, "database_error"),
        };
        let cause = map([("reason", reason.into()), ("message", message.into())]);
        let detail = map([
            ("status_code", Value::from(status)),
            ("message", "Server returned error".into()),
            ("detail", map([("detail", cause)])),
        ]);
        Answer::Error(error_response("API_SERVER_ERROR", detail))
    }
}
