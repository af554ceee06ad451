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
    /// What its children are for.
    pub purpose: Purpose,
    /// How long it may take to import Airflow.
    pub boot_timeout: Duration,
    /// How long it may take to answer before it is taken for dead.
    pub answer_timeout: Duration,
}

/// What the children of a fork server are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They parse files and run tasks, many of them: what that needs is tried out before, so that they start quickly.
    Anything,
    /// A few questions are asked of them: it is ready a third sooner.
    Answers,
}

impl Purpose {
    /// How the fork server is told.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Anything => "anything",
            Self::Answers => "answers",
        }
    }
}

impl ForkServerOptions {
    /// An interpreter, with the environment of this process.
    pub fn new(python: impl Into<PathBuf>) -> Self {
        Self {
            python: python.into(),
            environment: Vec::new(),
            inherit_environment: true,
            purpose: Purpose::Anything,
            boot_timeout: Duration::from_mins(2),
            answer_timeout: Duration::from_secs(30),
        }
    }
}
