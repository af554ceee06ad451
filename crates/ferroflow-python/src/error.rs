//! What can go wrong between us and Python.

use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;

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
    ZygoteLost,
    /// A child was killed and does not end.
    #[error("process {0} was killed and does not end: it waits in the kernel")]
    CannotBeKilled(i32),
    /// The fork server could not make a child.
    #[error("no child for user code: {0}")]
    Refused(String),
    /// There is no child for now: the system is out of what one takes.
    #[error("no child for user code for now: {0}")]
    Exhausted(String),
    /// A socket, pipe or file of the bridge failed.
    #[error("the connection to Python failed")]
    Io(#[from] std::io::Error),
    /// A frame that is not one.
    #[error("a child of the fork server wrote what is not a frame: {0}")]
    Frame(String),
}

impl Error {
    /// Whether it passes: the system was out of descriptors, memory or process numbers, and nothing has begun.
    pub fn is_for_now(&self) -> bool {
        match self {
            Self::Exhausted(_) => true,
            Self::Io(error) | Self::Start { source: error, .. } => {
                Errno::from_io_error(error).is_some_and(|errno| EXHAUSTED.contains(&errno))
            }
            _ => false,
        }
    }
}

/// What the system says when it is out of descriptors, memory or process numbers, or when too many descriptors are on their
/// way from one process to another.
const EXHAUSTED: [Errno; 6] =
    [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM, Errno::NOBUFS, Errno::TOOMANYREFS];

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// What the bridge answers with.
pub type Result<T> = std::result::Result<T, Error>;
