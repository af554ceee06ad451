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
use crate::control::{ControlSocket, Report, TemplateOrder};
use crate::output::Sink;
use crate::{Error, Result};

/// A DAG file, in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TemplateFile {
    /// The bundle.
    pub bundle: String,
    /// Its version, if runs are tied to one.
    pub version: Option<String>,
    /// The file, within the bundle.
    pub path: String,
}

/// A process with a DAG file imported. When it and the tasks that were forked from it are dropped, it ends.
#[derive(Clone, Debug)]
pub struct Template {
    connection: Arc<Connection>,
    files: Arc<Vec<(PathBuf, i64, u64)>>,
}

impl Template {
    /// Has a child of the fork server import a file. One that is not fit for this is an error that says why.
    pub(crate) async fn start(
        fork_server: Arc<Connection>,
        file: &TemplateFile,
        timeout: Duration,
        sink: &Arc<dyn Sink>,
    ) -> Result<Self> {
        let (socket, end) = ControlSocket::pair()?;
        // The child's end is for Python, which waits where ours must not.
        rustix::io::ioctl_fionbio(&end, false)?;
        let limits = ChildLimits::default();
        let child =
            Child::fork_with(Arc::clone(&fork_server), Entry::Template, limits, end.as_fd(), sink).await?;
        drop(end);
        let order =
            TemplateOrder { bundle: &file.bundle, version: file.version.as_deref(), file: &file.path };
        socket.send(&order, &[]).await?;
        let said = tokio::time::timeout(timeout, socket.receive()).await;
        match said {
            Ok(Ok(Some((Report::TemplateReady { ready }, _)))) => Ok(Self {
                connection: Arc::new(fork_server.of_template(socket, child)?),
                files: Arc::new(ready.files),
            }),
            Ok(Ok(Some((Report::Unfit { unfit }, _)))) => Err(Error::Refused(unfit)),
            Ok(Err(error)) => Err(error),
            Ok(Ok(_)) => Err(Error::Refused("the process that imports the file ended".to_owned())),
            Err(_) => Err(Error::Refused(format!("it was not imported within {} s", timeout.as_secs()))),
        }
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
