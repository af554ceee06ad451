//! Connections that are tested.

use serde::{Deserialize, Serialize};

/// What came of a connection test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOutcome {
    pub is_good: bool,
    pub message: Option<String>,
}
