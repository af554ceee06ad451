use ferroflow_telemetry::clock;

use super::{JobQuery, alive};
use crate::{OperationError, Operations};

#[derive(Clone, Debug)]
pub struct CheckRequest {
    pub query: JobQuery,
    /// Whether more than one may live.
    pub allows_several: bool,
}

/// How many components live: one, or more if that is allowed.
pub async fn check(operations: &Operations, request: &CheckRequest) -> Result<usize, OperationError> {
    match alive(&operations.db, &operations.settings, &request.query, clock::now()).await? {
        0 => Err(OperationError::not_found("no component lives that was asked about")),
        1 => Ok(1),
        more if request.allows_several => Ok(more),
        more => Err(OperationError::conflict(
            "several",
            format!("{more} components live, where one was expected; say --allow-multiple if that is right"),
        )),
    }
}
