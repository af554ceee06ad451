//! What else users replace or extend by Python: which files are looked at, listeners, secrets.
//!
//! Each kind has processes of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_telemetry::metrics::user_code;
use serde::Deserialize;
use serde_json::json;

use crate::ForkServer;
use crate::asking::{Asking, NoAnswer, Subject};
use crate::helper::{Helper, HelperError, Helpers, PythonError, read};
use crate::task_instances::InstanceRules;
use crate::timetables::Timetables;

/// How long one of these may take: they stand in the way of everything else.
const LIMIT: Duration = Duration::from_mins(1);

/// How many secrets are looked for at once: one that takes long keeps no other task waiting.
const LOOKUPS: usize = 4;

/// What a site wrote in Python and runs depend on: its timetables, and its weight rules and mutation hook.
///
/// They are asked in processes of their own, which start when the first question is asked.
#[derive(Clone)]
pub struct RunExtensions {
    pub timetables: Arc<Timetables>,
    pub rules: Arc<InstanceRules>,
}

impl RunExtensions {
    /// Extensions that may take as long for each answer as `[ferroflow]` says.
    pub fn new(python: &ForkServer, settings: &Settings) -> Self {
        let limits = &settings.ferroflow;
        Self {
            timetables: Arc::new(Timetables::new(python.clone(), limits.timetable_timeout)),
            rules: Arc::new(InstanceRules::new(python.clone(), limits.user_code_timeout)),
        }
    }
}

/// `[core] might_contain_dag_callable`, where it is not Airflow's own.
pub struct Discovery(Helper);

/// Listeners of plugins. Those that hang or crash are left alone for a while: nothing waits for each of them.
pub struct Listeners(Asking);

/// The classes of `[secrets] backend`. The environment and the database, which come after them, need no Python.
pub struct SecretsBackends(Helpers);

/// A connection of a secrets backend.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct BackendConnection {
    /// Its id.
    pub conn_id: String,
    /// Its type.
    pub conn_type: Option<String>,
    /// Its host,
    pub host: Option<String>,
    /// schema,
    pub schema: Option<String>,
    /// user,
    pub login: Option<String>,
    /// password
    pub password: Option<String>,
    /// and port.
    pub port: Option<i64>,
    /// What else there is: JSON, usually.
    pub extra: Option<String>,
}

#[derive(Deserialize)]
struct Examined {
    might: Option<bool>,
    error: Option<PythonError>,
}

impl Discovery {
    /// One whose process is started when it is needed.
    pub fn new(server: ForkServer) -> Self {
        Self(Helper::new(server, "[core] might_contain_dag_callable"))
    }

    /// Which of these files might hold a DAG; of a file on which the function fails, the error. With an archive,
    /// the paths are names of its members.
    pub async fn might_contain_dag(
        &self,
        paths: &[PathBuf],
        archive: Option<&Path>,
    ) -> Result<Vec<Result<bool, PythonError>>, HelperError> {
        let params = json!({"paths": paths, "archive": archive});
        let answer = self.0.call("discovery.might_contain_dag", params, LIMIT).await?;
        let examined: Vec<Examined> = read("[core] might_contain_dag_callable", answer)?;
        let result = |examined: Examined| match examined.error {
            Some(error) => Err(error),
            None => Ok(examined.might.unwrap_or(false)),
        };
        Ok(examined.into_iter().map(result).collect())
    }
}

impl Listeners {
    /// Listeners whose process is started when it is needed.
    pub fn new(server: ForkServer) -> Self {
        Self(Asking::new(server, "listeners", LIMIT))
    }

    /// Whether any of them wants to hear of import errors.
    pub async fn hear_import_errors(&self) -> Result<bool, HelperError> {
        read("listeners", self.0.call_plainly("listener.hears_import_errors", json!({})).await?)
    }

    /// Tells them of an import error: one of a file that had none before, or one that was there already.
    pub async fn tell_import_error(
        &self,
        filename: &Path,
        stacktrace: &str,
        is_new: bool,
    ) -> Result<(), HelperError> {
        let params = json!({"filename": filename, "stacktrace": stacktrace, "is_new": is_new});
        let subject = Subject { who: "import errors", classes: BTreeSet::new(), is_asked_again: false };
        match self.0.call(&subject, "listener.import_error", params).await {
            Ok(_) => Ok(()),
            Err(NoAnswer::Failed(error)) => Err(error),
            Err(NoAnswer::LeftAlone(_)) => {
                user_code::untold(user_code::Kind::Listeners, 1);
                Ok(())
            }
        }
    }

    /// Loads plugins anew.
    pub async fn restart(&self) {
        self.0.restart().await;
    }
}

impl SecretsBackends {
    /// Backends whose process is started when it is needed.
    pub fn new(server: ForkServer) -> Self {
        Self(Helpers::new(server, "[secrets] backend", LOOKUPS))
    }

    /// A connection, if a backend has it. An error of a backend is one to log and to go on after, unless it
    /// [denies](is_denial) access.
    pub async fn connection(
        &self,
        id: &str,
        team: Option<&str>,
    ) -> Result<Option<BackendConnection>, HelperError> {
        let params = json!({"conn_id": id, "team_name": team});
        read("[secrets] backend", self.0.seat().await.call("secrets.get_connection", params, LIMIT).await?)
    }

    /// A variable, if a backend has it.
    pub async fn variable(&self, key: &str, team: Option<&str>) -> Result<Option<String>, HelperError> {
        let params = json!({"key": key, "team_name": team});
        read("[secrets] backend", self.0.seat().await.call("secrets.get_variable", params, LIMIT).await?)
    }
}

/// Whether a backend says that no other backend is asked.
pub fn is_denial(error: &HelperError) -> bool {
    error.exception().is_some_and(|error| error.type_name.ends_with(".AirflowSecretsBackendAccessDenied"))
}

/// Passwords do not belong in logs.
impl std::fmt::Debug for BackendConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BackendConnection")
            .field("conn_id", &self.conn_id)
            .field("conn_type", &self.conn_type)
            .finish_non_exhaustive()
    }
}
