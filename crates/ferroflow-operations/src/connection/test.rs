use ferroflow_config::Settings;

use super::{Hooks, Tested, get};
use crate::{OperationError, Operations};

/// A connection that exists, and may be tried.
#[derive(Debug)]
pub struct ConnectionTest<'a> {
    conn_id: &'a str,
}

/// Looks for a connection that is to be tried.
pub async fn test<'a>(
    operations: &Operations,
    conn_id: &'a str,
) -> Result<ConnectionTest<'a>, OperationError> {
    check_enabled(&operations.settings)?;
    get(operations, conn_id).await?;
    Ok(ConnectionTest { conn_id })
}

/// Whether the site wants connections to be tried.
pub fn check_enabled(settings: &Settings) -> Result<(), OperationError> {
    if settings.core.test_connection.trim().eq_ignore_ascii_case("enabled") {
        return Ok(());
    }
    Err(OperationError::refused(
        "disabled",
        "Testing connections is disabled in Airflow configuration. Contact your deployment admin to enable it.",
    ))
}

impl ConnectionTest<'_> {
    /// Has its hook try it.
    pub async fn run(self, hooks: &dyn Hooks) -> Result<Tested, OperationError> {
        hooks.test(self.conn_id).await
    }
}
