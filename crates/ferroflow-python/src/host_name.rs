//! The name of this host, where a custom function gives it.

use std::path::Path;

use crate::program;

/// As Airflow asks for it, with the folders on the search path that it puts there. Whatever else is printed comes before.
const ASK: &str =
    "import airflow.settings\nfrom airflow.utils.net import get_hostname\nprint()\nprint(get_hostname())";

/// Why there is no name.
#[derive(Debug, thiserror::Error)]
#[error("{function} does not name this host: {reason}")]
pub struct Nameless {
    function: String,
    reason: String,
}

/// Asks `[core] hostname_callable`, in a process of its own that imports Airflow: seconds.
pub fn ask(python: &Path, function: &str) -> Result<String, Nameless> {
    let nameless = |reason: String| Nameless { function: function.to_owned(), reason };
    let printed = program::output(python, &["-c", ASK]).map_err(|error| nameless(error.to_string()))?;
    match printed.lines().next_back().map(str::trim) {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(nameless("it is empty".to_owned())),
    }
}
