//! Variables and connections.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Sets a variable, new or not.
#[derive(Clone, Serialize, Deserialize)]
pub struct PutVariable {
    pub key: String,
    pub value: Option<String>,
    pub description: Option<String>,
}

/// Which page of the names of variables is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VariableKeys {
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default = "a_thousand")]
    pub limit: i64,
    #[serde(default)]
    pub offset: i64,
}

/// A page of the names of variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableKeysPage {
    pub keys: Vec<String>,
    /// How many there are on all pages.
    pub total_entries: i64,
}

/// A connection, with its password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionResponse {
    pub conn_id: String,
    pub conn_type: String,
    pub host: Option<String>,
    pub schema: Option<String>,
    pub login: Option<String>,
    pub password: Option<String>,
    pub port: Option<i32>,
    /// JSON, as text.
    pub extra: Option<String>,
}

/// Neither its password nor its extra, in which there may be others.
impl fmt::Debug for ConnectionResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionResponse")
            .field("conn_id", &self.conn_id)
            .field("conn_type", &self.conn_type)
            .finish_non_exhaustive()
    }
}

fn a_thousand() -> i64 {
    1000
}
