//! What a fork server is started with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How to start a fork server.
#[derive(Clone, Debug)]
pub struct ForkServerOptions {
    /// The interpreter that has Airflow installed.
    pub python: PathBuf,
    /// Environment variables to set besides those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether the environment of this process is handed on.
    pub inherit_environment: bool,
    /// How long it may take to import Airflow.
    pub boot_timeout: Duration,
    /// How long it may take to answer before it is taken for dead.
    pub answer_timeout: Duration,
}

impl ForkServerOptions {
    /// An interpreter, with the environment of this process.
    pub fn new(python: impl Into<PathBuf>) -> Self {
        Self {
            python: python.into(),
            environment: Vec::new(),
            inherit_environment: true,
            boot_timeout: Duration::from_mins(2),
            answer_timeout: Duration::from_secs(30),
        }
    }
}
