//! A child of the fork server: the process in which user code runs.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::children::{Fate, Process};
use crate::connection::{Connection, LAST_WORD};
use crate::given_up::{Remains, until_ended};
use crate::output::{Capture, Output, Sink, Stream};
use crate::{Error, Result};

/// How long a process may take to end once all that it has started was killed.
const RELEASE: Duration = Duration::from_secs(1);

/// What a child is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Parses one DAG file, then ends.
    Parse,
    /// Evaluates Python's extension points (timetables, bundles, listeners) on request, as long as it is wanted.
    Helper,
    /// Runs one task, then ends.
    Task,
    /// Keeps a DAG file imported, and forks the tasks of its DAGs.
    Zygote,
    /// Runs one callback, then ends.
    Callback,
    /// Tries one connection, then ends.
    ConnectionTest,
}

impl Entry {
    /// As in the table of `child.py`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Helper => "helper",
            Self::Task => "task",
            Self::Zygote => "template",
            Self::Callback => "callback",
            Self::ConnectionTest => "connection_test",
        }
    }
}

/// What a child may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChildLimits {
    /// Bytes of memory (the kernel's `RLIMIT_DATA`: what the child allocates, with what it has from the fork
    /// server); unlimited if not given.
    pub memory: Option<u64>,
}

/// What a child used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor time in user code.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// The most memory it had at a time, in bytes, with what it shares with the fork server.
    pub max_rss: u64,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// What it used.
    pub usage: Usage,
}

/// A child that lives, or has ended and was not asked yet. Dropping it kills it, and all that it started.
#[derive(Debug)]
pub struct Child {
    connection: Arc<Connection>,
    id: u64,
    entry: Entry,
    process: Process,
    channel: Option<UnixStream>,
    capture: Capture,
    fate: watch::Receiver<Fate>,
    /// If it cannot be killed.
    remains: Option<Remains>,
}

impl Child {
    pub(crate) async fn fork(
        connection: Arc<Connection>,
        entry: Entry,
        limits: ChildLimits,
        sink: &Arc<dyn Sink>,
    ) -> Result<Self> {
        let (channel, channel_end) = StdUnixStream::pair()?;
        channel.set_nonblocking(true)?;
        let mut child = Self::fork_with(connection, entry, limits, channel_end.as_fd(), sink).await?;
        child.channel = Some(UnixStream::from_std(channel)?);
        Ok(child)
    }

    /// Forks a child whose end of the channel is this.
    pub(crate) async fn fork_with(
        connection: Arc<Connection>,
        entry: Entry,
        limits: ChildLimits,
        channel_end: BorrowedFd<'_>,
        sink: &Arc<dyn Sink>,
    ) -> Result<Self> {
        let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let (log, log_end) = pipe_with(PipeFlags::CLOEXEC)?;
        let streams = vec![(Stream::Stdout, stdout), (Stream::Stderr, stderr), (Stream::Log, log)];
        let capture = Capture::start(streams, sink)?;
        let ends = [channel_end, stdout_end.as_fd(), stderr_end.as_fd(), log_end.as_fd()];
        let forked = connection.fork(entry.name(), limits.memory, &ends).await?;
        Ok(Self {
            connection,
            id: forked.id,
            entry,
            process: forked.process,
            channel: None,
            capture,
            fate: forked.fate,
            remains: None,
        })
    }

    /// Its process number, for messages; signals go through a descriptor, which cannot mean another process.
    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// The version of Airflow's Task SDK that it has loaded.
    pub fn sdk_version(&self) -> &str {
        self.connection.sdk_version()
    }

    /// Another handle to its process.
    pub(crate) fn process(&self) -> Result<OwnedFd> {
        Ok(self.process.pidfd.try_clone()?)
    }

    /// The socket that carries frames: the child's standard input. It can be taken once.
    pub fn take_channel(&mut self) -> Option<UnixStream> {
        self.channel.take()
    }

    /// Whether its end of the channel is closed: it has ended, even if that was not told yet. Nothing can be said of
    /// one whose channel was taken.
    pub fn has_hung_up(&self) -> bool {
        let peek = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        self.channel.as_ref().is_some_and(|channel| {
            recv(channel, &mut [0; 1], peek).map_or_else(|errno| errno != Errno::AGAIN, |(read, _)| read == 0)
        })
    }

    /// The last lines that it printed on standard output and error.
    pub fn tail(&self) -> String {
        self.capture.tail().text()
    }

    /// What it prints and logs.
    pub fn output(&self) -> Output {
        self.capture.output()
    }

    /// Waits for its end. What it started is dead by then, and everything that it printed has been passed on.
    ///
    /// May be abandoned and called again.
    pub async fn wait(&mut self) -> Result<Exit> {
        let fate = self.fate.wait_for(|fate| !matches!(fate, Fate::Lives)).await;
        let fate = fate.map_or(Fate::Lost, |fate| fate.clone());
        if !matches!(fate, Fate::Ended(_)) {
            self.end_without_server().await;
        }
        self.capture.finish().await;
        match fate {
            Fate::Ended(report) => Ok(Exit {
                status: ExitStatus::from_raw(report.status),
                usage: Usage {
                    user: seconds(report.user),
                    system: seconds(report.system),
                    max_rss: report.max_rss,
                },
            }),
            Fate::Lives | Fate::Lost => Err(self.connection.loss()),
        }
    }

    /// Asks it and all of its process group to end.
    pub fn ask_to_end(&self) {
        self.connection.signal(self.id, Signal::TERM.as_raw());
    }

    /// Asks it and all of its process group to end, kills them after `grace`, and waits for its end.
    pub async fn terminate(&mut self, grace: Duration) -> Result<Exit> {
        self.ask_to_end();
        if let Ok(exit) = tokio::time::timeout(grace, self.wait()).await {
            return exit;
        }
        self.end().await
    }

    /// Kills it and waits for its end. One that does not end is given up, with all that it started, which is an error.
    pub async fn end(&mut self) -> Result<Exit> {
        self.kill();
        if let Ok(exit) = tokio::time::timeout(LAST_WORD, self.wait()).await {
            return exit;
        }
        if !self.connection.give_up_child(self.id).await {
            self.connection.give_up().await;
            return self.wait().await;
        }
        if let Ok(exit) = tokio::time::timeout(RELEASE, self.wait()).await {
            return exit;
        }
        // It says nothing any more, either.
        self.capture.finish().await;
        self.is_given_up();
        Err(Error::CannotBeKilled(self.process.pid))
    }

    /// What is left of it, if it cannot be killed.
    pub fn remains(&self) -> Option<&Remains> {
        self.remains.as_ref()
    }

    /// The same for a caller that does without the rest.
    pub fn into_remains(mut self) -> Option<Remains> {
        self.remains.take()
    }

    /// The fork server is gone, and its children with it: unless it could not be killed, or one of them.
    async fn end_without_server(&mut self) {
        let _ = pidfd_send_signal(&self.process.pidfd, Signal::KILL);
        let ended = tokio::time::timeout(LAST_WORD, until_ended(&self.process.pidfd)).await;
        if ended.is_err() {
            self.is_given_up();
        }
    }

    fn is_given_up(&mut self) {
        if self.remains.is_none() {
            let Process { pid, pidfd, .. } = &self.process;
            self.remains = Some(self.connection.given_up.note(self.entry, *pid, pidfd));
        }
    }

    /// Kills it; the fork server kills what it leaves behind.
    pub fn kill(&self) {
        if self.process.outlives {
            // By its descriptor it would be killed for another child that it may be by now.
            self.connection.signal(self.id, Signal::KILL.as_raw());
        } else {
            // It may have ended in the meantime.
            let _ = pidfd_send_signal(&self.process.pidfd, Signal::KILL);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.remains.is_some() || !matches!(*self.fate.borrow(), Fate::Lives) {
            return;
        }
        self.kill();
        let Ok(runtime) = Handle::try_current() else { return };
        let dropped = Dropped {
            connection: Arc::downgrade(&self.connection),
            id: self.id,
            entry: self.entry,
            pid: self.process.pid,
            fate: self.fate.clone(),
        };
        if let Ok(process) = self.process.pidfd.try_clone() {
            runtime.spawn(dropped.see_to_its_end(process));
        }
    }
}

/// A child that is not waited for any more.
struct Dropped {
    /// It is not for its sake that the fork server stays.
    connection: Weak<Connection>,
    id: u64,
    entry: Entry,
    pid: i32,
    fate: watch::Receiver<Fate>,
}

impl Dropped {
    async fn see_to_its_end(mut self, process: OwnedFd) {
        let ended = self.fate.wait_for(|fate| !matches!(fate, Fate::Lives));
        if tokio::time::timeout(LAST_WORD, ended).await.is_ok() {
            return;
        }
        let Some(connection) = self.connection.upgrade() else { return };
        connection.give_up_child(self.id).await;
        let ended = self.fate.wait_for(|fate| !matches!(fate, Fate::Lives));
        if tokio::time::timeout(RELEASE, ended).await.is_err() {
            connection.given_up.note(self.entry, self.pid, &process);
        }
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or_default()
}
