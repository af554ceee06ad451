//! What an operation refuses, as the Task Execution API refuses it.

use ferroflow_operations::{OperationError, Problem};
use ferroflow_telemetry::chain;

use crate::Refusal;

impl From<OperationError> for Refusal {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::NotFound(problem) => api(404, problem),
            OperationError::Conflict(problem) => api(409, problem),
            OperationError::Invalid(problem) => api(400, problem),
            OperationError::Refused(problem) => api(422, problem),
            OperationError::Unable(problem) => api(500, problem),
            OperationError::Stored { what, source, .. } => Self::Stored { what, source },
            OperationError::UserCode(source) => Self::api(500, "user_code", chain(&*source)),
            OperationError::Configuration(bad) => Self::api(500, "configuration", chain(&bad)),
            OperationError::Database(error) => Self::Database(error),
        }
    }
}

fn api(status: u16, problem: Problem) -> Refusal {
    match problem.reason {
        Some(reason) => Refusal::api(status, reason, problem.message),
        None => Refusal::Api { status, detail: problem.message.into() },
    }
}
