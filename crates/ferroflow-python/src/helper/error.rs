//! What can go wrong with a helper.

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a helper has no answer.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The code that was called raised.
    #[error("{0}")]
    Raised(Box<PythonError>),
    /// It took too long, and was ended.
    #[error("the Python process for {purpose} gave no answer within {limit:?} and was ended")]
    TimedOut {
        /// What the process is for.
        purpose: String,
        /// How long it had.
        limit: Duration,
    },
    /// It ended instead of answering.
    #[error("the Python process for {purpose} ended while it was asked: {how}")]
    Died {
        /// What the process is for.
        purpose: String,
        /// The exit code or the signal.
        how: String,
        /// What was seen on the channel.
        #[source]
        problem: io::Error,
    },
    /// The fork server died, and the process with it, also when it was asked again.
    #[error("the Python process for {purpose} ended twice while it was asked, with Python's fork server")]
    ServerLost {
        /// What the process is for.
        purpose: String,
    },
    /// It answered something else.
    #[error("the Python process for {purpose} gave an answer that cannot be read: {why}")]
    Malformed {
        /// What the process is for.
        purpose: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// It could not be started.
    #[error("the Python process for {purpose} could not be started")]
    NotStarted {
        /// What the process is for.
        purpose: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Several died one after the other, and the next is not started yet.
    #[error(
        "the Python process for {purpose} ended {deaths} times in a row; the next one is started at {until}"
    )]
    BackingOff {
        /// What the process is for.
        purpose: String,
        /// How many.
        deaths: u32,
        /// When it may be tried again.
        until: Timestamp,
    },
}

/// An exception, as Python tells it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("{type_name}: {message}")]
pub struct PythonError {
    /// The class: its import path, or the name of a built-in one.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The text.
    pub message: String,
    /// The last calls, with the text at the end.
    pub traceback: String,
}

impl HelperError {
    /// Whether a process was lost to the call: it took too long or died. Asking again costs another one.
    pub fn cost_a_process(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Died { .. } | Self::ServerLost { .. })
    }

    /// The exception, if the code that was called raised one.
    pub fn exception(&self) -> Option<&PythonError> {
        match self {
            Self::Raised(exception) => Some(exception),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    #[serde(default)]
    result: Value,
    error: Option<Box<PythonError>>,
}

/// What an answer says to the question with this id.
pub(super) fn result_of(purpose: &str, id: u64, answer: Value) -> Result<Value, HelperError> {
    let malformed = |why: String| HelperError::Malformed { purpose: purpose.to_owned(), why };
    match serde_json::from_value::<Answer>(answer) {
        Ok(answer) if answer.id != id => Err(malformed(format!("it is to question {}, not {id}", answer.id))),
        Ok(Answer { error: Some(exception), .. }) => Err(HelperError::Raised(exception)),
        Ok(answer) => Ok(answer.result),
        Err(error) => Err(malformed(error.to_string())),
    }
}

/// What an answer means.
pub(crate) fn read<T: DeserializeOwned>(purpose: &str, answer: Value) -> Result<T, HelperError> {
    serde_json::from_value(answer)
        .map_err(|problem| HelperError::Malformed { purpose: purpose.to_owned(), why: problem.to_string() })
}
