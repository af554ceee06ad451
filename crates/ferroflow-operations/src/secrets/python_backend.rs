//! A secrets backend of the site's own, asked through Python.

use ferroflow_db::connection::Connection;
use ferroflow_python::extensions::SecretsBackends;
use ferroflow_telemetry::chain;

use super::{BackendAnswer, SecretsBackend};

/// The site's own secrets backend.
pub struct PythonBackend {
    name: String,
    backends: SecretsBackends,
}

impl PythonBackend {
    /// The backend of this import path, in a helper.
    pub fn new(name: &str, backends: SecretsBackends) -> Self {
        Self { name: name.to_owned(), backends }
    }
}

impl SecretsBackend for PythonBackend {
    fn name(&self) -> &str {
        &self.name
    }

    fn variable<'a>(&'a self, key: &'a str) -> BackendAnswer<'a, String> {
        Box::pin(async move { self.backends.variable(key, None).await.map_err(|error| chain(&error)) })
    }

    fn connection<'a>(&'a self, conn_id: &'a str) -> BackendAnswer<'a, Connection> {
        Box::pin(async move {
            let found = self.backends.connection(conn_id, None).await.map_err(|error| chain(&error))?;
            Ok(found.map(|found| Connection {
                conn_id: found.conn_id,
                conn_type: found.conn_type.unwrap_or_default(),
                description: None,
                host: found.host,
                schema: found.schema,
                login: found.login,
                password: found.password,
                port: found.port.and_then(|port| i32::try_from(port).ok()),
                extra: found.extra,
                team_name: None,
            }))
        })
    }
}
