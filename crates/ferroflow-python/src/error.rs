//! What can go wrong between us and Python.

use std::path::PathBuf;
use std::time::Duration;

/// The bridge cannot do its part.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The interpreter could not be started at all.
    #[error("{} could not be started", python.display())]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The fork server ended before it was ready.
    #[error(
        "{} could not load Airflow's DAG processor ({status}); install Airflow 3.3 there, or correct what it says:\n{output}",
        python.display()
    )]
    Boot {
        /// The interpreter.
        python: PathBuf,
        /// How it ended.
        status: String,
        /// The last lines that it printed.
        output: String,
    },
    /// The fork server was not ready in time.
    #[error("{} did not load Airflow within {} s; its last words:\n{output}", python.display(), timeout.as_secs())]
    BootTimeout {
        /// The interpreter.
        python: PathBuf,
        /// How long was waited.
        timeout: Duration,
        /// The last lines that it printed.
        output: String,
    },
    /// The fork server died again and again.
    #[error(
        "Python's fork server died {times} times in a row; the next attempt is in {} s; its last words:\n{output}",
        wait.as_secs()
    )]
    KeepsDying {
        /// How often.
        times: u32,
        /// When it is tried again.
        wait: Duration,
        /// The last lines that it printed.
        output: String,
    },
    /// The fork server died, and all its children with it.
    #[error("Python's fork server died, and its children with it")]
    Lost,
    /// A template died, or the fork server with it, and all its children.
    #[error("the process that had the DAG file imported died, and its children with it")]
    TemplateLost,
    /// The fork server could not make a child.
    #[error("no child for user code: {0}")]
    Refused(String),
    /// A socket, pipe or file of the bridge failed.
    #[error("the connection to Python failed")]
    Io(#[from] std::io::Error),
    /// A frame that is not one.
    #[error("a child of the fork server wrote what is not a frame: {0}")]
    Frame(String),
}

impl From<rustix::io::Errno> for Error {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// What the bridge answers with.
pub type Result<T> = std::result::Result<T, Error>;
