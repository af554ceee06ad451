//! Connections as far as they are Python: which types there are, which are usual, whether one works.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::ForkServer;
use crate::helper::{Helper, HelperError, read};

const PURPOSE: &str = "connections";

/// How long it may take to import all hooks that there are.
const LIMIT: Duration = Duration::from_mins(2);
/// How long a system may take to say that it cannot be reached.
const TEST_LIMIT: Duration = Duration::from_mins(10);

/// What the installed providers know of connections.
pub struct ConnectionTypes(Helper);

/// A connection that Airflow's `create-default-connections` makes.
#[derive(Debug, Deserialize)]
pub struct UsualConnection {
    /// Its id.
    pub conn_id: String,
    /// What it has, by the names of its fields.
    pub fields: Map<String, Value>,
}

/// Whether a connection works.
#[derive(Debug, Deserialize)]
pub struct Tested {
    /// Whether it does.
    pub works: bool,
    /// What its hook says.
    pub message: String,
}

impl ConnectionTypes {
    /// Types whose process is started when it is needed.
    pub fn new(server: ForkServer) -> Self {
        Self(Helper::new(server, PURPOSE))
    }

    /// The types that there are hooks for.
    pub async fn names(&self) -> Result<Vec<String>, HelperError> {
        read(PURPOSE, self.0.call("connections.types", json!({}), LIMIT).await?)
    }

    /// The connections that Airflow takes for usual.
    pub async fn usual(&self) -> Result<Vec<UsualConnection>, HelperError> {
        read(PURPOSE, self.0.call("connections.usual", json!({}), LIMIT).await?)
    }

    /// Has the hook of a connection try it.
    pub async fn test(&self, conn_id: &str) -> Result<Tested, HelperError> {
        read(PURPOSE, self.0.call("connections.test", json!({"conn_id": conn_id}), TEST_LIMIT).await?)
    }
}
