//! Why an operation is not done.

use crate::dag_run::BadRunIdPattern;

/// Every verb returns this. The kinds are those that HTTP has a status for.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// What the request names does not exist: 404.
    #[error("{0}")]
    NotFound(Problem),
    /// Something is there already, or is in a state that forbids it for now: 409.
    #[error("{0}")]
    Conflict(Problem),
    /// The request itself is wrong: 400.
    #[error("{0}")]
    Invalid(Problem),
    /// The request is well-formed, and a rule forbids it: 422.
    #[error("{0}")]
    Refused(Problem),
    /// It cannot be done by this process, or with what the database holds: 500.
    #[error("{0}")]
    Unable(Problem),
    /// A stored value that cannot be read: 500.
    #[error("{what} cannot be read{help}")]
    Stored {
        /// Which value.
        what: String,
        /// What to do about it, after a semicolon; nothing where that is not known.
        help: &'static str,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The configuration allows names of runs by what is no pattern: 500.
    #[error(transparent)]
    Configuration(#[from] BadRunIdPattern),
    /// Python was not started, or did not answer: 500.
    #[error(transparent)]
    UserCode(Box<dyn std::error::Error + Send + Sync>),
    /// The database.
    #[error(transparent)]
    Database(#[from] ferroflow_db::Error),
}

/// A sentence for people, which names the thing and says what to do, and a word for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The `reason` of the Task Execution API; where that API answers with a sentence alone, there is none.
    pub reason: Option<&'static str>,
    /// The sentence.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl Problem {
    fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason: Some(reason), message: message.into() }
    }
}

impl OperationError {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::NotFound(Problem::new("not_found", message))
    }

    pub(crate) fn conflict(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict(Problem::new(reason, message))
    }

    pub(crate) fn invalid(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid(Problem::new(reason, message))
    }

    pub(crate) fn refused(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Refused(Problem::new(reason, message))
    }

    pub(crate) fn unable(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Unable(Problem::new(reason, message))
    }

    /// A value of the request that Airflow refuses by a `ValueError`.
    pub(crate) fn value_error(message: impl Into<String>) -> Self {
        Self::invalid("value_error", message)
    }
}
