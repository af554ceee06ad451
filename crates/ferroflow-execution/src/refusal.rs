//! Why a request is not answered as its sender hoped.

use ferroflow_db::BadRow;
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::chain;
use serde_json::json;

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
    /// An API elsewhere cannot be reached, or its answer was lost.
    #[error("the Task Execution API did not answer")]
    Unavailable {
        /// Whether the request may have reached it.
        is_outcome_unknown: bool,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Refusal {
    /// A refusal as most routes of the Execution API give it: a word for programs, a sentence for people.
    pub fn api(status: u16, reason: &str, message: impl Into<String>) -> Self {
        Self::Api { status, detail: json!({"reason": reason, "message": message.into()}) }
    }

    /// That a task instance meddles with what is another's.
    pub(crate) fn of_another() -> Self {
        Self::Api { status: 403, detail: "Token subject does not match task instance ID".into() }
    }

    /// That a task instance is in a state from which it cannot go where it was to go.
    pub(crate) fn invalid_state(message: &str, state: Option<TaskState>) -> Self {
        let previous_state = state.map(TaskState::as_str);
        let detail = json!({"reason": "invalid_state", "message": message, "previous_state": previous_state});
        Self::Api { status: 409, detail }
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
            Self::Unsendable(_) | Self::Unavailable { .. } => None,
        }
    }

    /// Whether trying again soon may help: the database did not answer, or cannot do it now.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => error.is_transient() || self.is_outcome_unknown(),
            Self::Unavailable { .. } => true,
            _ => false,
        }
    }

    /// Whether others have locked a row that it needs.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_busy())
    }

    /// Whether trying again may help one day: what is wrong is wrong with the database, not with what it is told.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Database(error) => error.may_pass(),
            Self::Unavailable { .. } => true,
            _ => false,
        }
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
        match self {
            Self::Database(error) => matches!(error, ferroflow_db::Error::OutcomeUnknown(_)),
            Self::Unavailable { is_outcome_unknown, .. } => *is_outcome_unknown,
            _ => false,
        }
    }
}
