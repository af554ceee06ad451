//! Which of Airflow's extension points are in use on a site.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::helper::{Helper, HelperError, PythonError, read};
use crate::{ForkServer, program};

/// Looks for the local settings without importing them: they may import Airflow, which takes seconds.
const LOCAL_SETTINGS: &str = r#"
import importlib.util, sys
sys.path[:] = [path for path in sys.path if path] + sys.argv[1:]
print(importlib.util.find_spec("airflow_local_settings") is not None)
"#;

/// What Airflow finds in plugins, local settings and the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Extensions {
    /// Plugins that were loaded.
    pub plugins: Vec<Plugin>,
    /// Why others were not, by file or name.
    pub plugin_errors: BTreeMap<String, String>,
    /// Cluster policies and hooks of the site.
    pub policies: Vec<Implementation>,
    /// What listeners listen to.
    pub listeners: Vec<Implementation>,
    /// The classes of secrets backends beside the environment and the database.
    pub secrets_backends: Vec<String>,
    /// Why they could not be loaded.
    pub secrets_error: Option<PythonError>,
    /// The class of XComs.
    pub xcom_backend: String,
}

/// A plugin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// What is in it, by the name of the attribute that has it.
    pub brings: BTreeMap<String, Vec<String>>,
    /// How many pages and endpoints it has.
    pub pages: usize,
    /// Its listeners.
    pub listeners: Vec<String>,
}

/// A hook that is implemented here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Implementation {
    /// The name of the hook.
    pub hook: String,
    /// The module that has it.
    pub place: String,
}

/// Asks Airflow, in a process of its own that loads all plugins.
pub async fn extensions(server: ForkServer, limit: Duration) -> Result<Extensions, HelperError> {
    const PURPOSE: &str = "plugins";
    let answer = Helper::new(server, PURPOSE).call("survey.extensions", json!({}), limit).await?;
    read(PURPOSE, answer)
}

/// Whether a Python finds `airflow_local_settings`, which may have cluster policies and hooks, on its search path and in
/// the folders that Airflow adds to that. One that cannot be asked may do so.
pub fn may_have_local_settings(python: &Path, folders: &[PathBuf]) -> bool {
    let folders = folders.iter().map(|folder| folder.to_string_lossy());
    let arguments: Vec<_> = ["-c", LOCAL_SETTINGS].into_iter().map(Into::into).chain(folders).collect();
    let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    program::output(python, &arguments).map_or(true, |printed| printed.trim() != "False")
}
