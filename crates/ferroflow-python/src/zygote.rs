//! A template: a process that has a DAG file imported, and from which the tasks of its DAGs are forked.
//!
//! Importing the file is most of what a short task takes. Here it is done once for all of them, which user code can
//! notice: what a file does when it is imported is done once, not for every task.

use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::child::{Child, ChildLimits, Entry};
use crate::connection::Connection;
use crate::control::{ControlSocket, Report, ZygoteOrder};
use crate::output::Sink;
use crate::{Error, Result};

/// A DAG file, in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ZygoteFile {
    /// The bundle.
    pub bundle: String,
    /// Its version, if runs are tied to one.
    pub version: Option<String>,
    /// The file, within the bundle.
    pub path: String,
}

/// What a template may take, and its tasks.
#[derive(Clone, Copy, Debug)]
pub struct ZygoteLimits {
    /// How long the import may take.
    pub import: Duration,
    /// How many tasks a process runs, one after the other. What one leaves in it, the next may find.
    pub tasks_per_process: u32,
}

/// A process with a DAG file imported. When it and the tasks that were forked from it are dropped, it ends.
#[derive(Clone, Debug)]
pub struct Zygote {
    connection: Arc<Connection>,
    files: Arc<Vec<(PathBuf, i64, u64)>>,
}

impl Zygote {
    /// Has a child of the fork server import a file. One that is not fit for this is an error that says why.
    pub(crate) async fn start(
        fork_server: Arc<Connection>,
        file: &ZygoteFile,
        limits: ZygoteLimits,
        sink: &Arc<dyn Sink>,
    ) -> Result<Self> {
        let (socket, end) = ControlSocket::pair()?;
        // The child's end is for Python, which waits where ours must not.
        rustix::io::ioctl_fionbio(&end, false)?;
        let (connection, unlimited) = (Arc::clone(&fork_server), ChildLimits::default());
        let child = Child::fork_with(connection, Entry::Zygote, unlimited, end.as_fd(), sink).await?;
        drop(end);
        let order = ZygoteOrder {
            bundle: &file.bundle,
            version: file.version.as_deref(),
            file: &file.path,
            tasks_per_process: limits.tasks_per_process,
        };
        socket.send(&order, &[]).await?;
        let files = match tokio::time::timeout(limits.import, imported(&socket)).await {
            Ok(files) => files?,
            Err(_) => {
                return Err(Error::Refused(format!(
                    "it was not imported within {} s",
                    limits.import.as_secs()
                )));
            }
        };
        let connection = Arc::new(fork_server.of_zygote(socket, child)?);
        Ok(Self { connection, files: Arc::new(files) })
    }

    /// Whether tasks can be forked from it that see the files as they are now. Reads the times of files.
    pub fn is_current(&self) -> bool {
        !self.connection.is_lost()
            && self.files.iter().all(|(path, modified, size)| {
                path.metadata().is_ok_and(|found| {
                    let time = found.mtime() * 1_000_000_000 + found.mtime_nsec();
                    time == *modified && found.len() == *size
                })
            })
    }

    /// Forks a task, whose lines go to `sink`.
    pub async fn fork_task(&self, sink: &Arc<dyn Sink>) -> Result<Child> {
        Child::fork(Arc::clone(&self.connection), Entry::Task, ChildLimits::default(), sink).await
    }
}

/// Waits until a file is imported. Answers which files that took.
async fn imported(socket: &ControlSocket) -> Result<Vec<(PathBuf, i64, u64)>> {
    let mut files = Vec::new();
    loop {
        match socket.receive().await? {
            Some((Report::ZygoteFiles(some), _)) => files.extend(some.files),
            Some((Report::ZygoteReady { ready }, _)) => {
                files.extend(ready.files);
                return Ok(files);
            }
            Some((Report::Unfit { unfit }, _)) => return Err(Error::Refused(unfit)),
            _ => return Err(Error::Refused("the process that imports the file ended".to_owned())),
        }
    }
}
