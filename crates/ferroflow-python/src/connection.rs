//! One run of the fork server: its process, its control socket, and the children that it reports on.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ferroflow_telemetry::chain;
use ferroflow_telemetry::clock::Stopwatch;
use rustix::process::Signal;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

use crate::boot::{boot_failure, first_report, mark, spawn, tell};
use crate::child::Child;
use crate::children::{Children, Fate, Process, Waiting};
use crate::control::{ControlSocket, Order};
use crate::given_up::{GivenUp, UNTIL_ROOM};
use crate::options::ForkServerOptions;
use crate::output::{Capture, Tail};
use crate::{Error, Result, sources, strays};

/// How long the end of a process that was killed may take to be told before it is given up.
pub(crate) const LAST_WORD: Duration = Duration::from_secs(5);

/// A fork server that runs, or did.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Arc<ControlSocket>,
    children: Arc<Children>,
    next: AtomicU64,
    pump: AbortHandle,
    losing: watch::Sender<bool>,
    lost: watch::Receiver<bool>,
    pub(crate) given_up: Arc<GivenUp>,
    /// What waits for the end of a template learns by this that it is not wanted any more.
    _wanted: Option<oneshot::Sender<()>>,
    /// The process of the fork server, for its end.
    server: OwnedFd,
    tail: Tail,
    age: Stopwatch,
    answer_timeout: Duration,
    sdk_version: String,
    is_zygote: bool,
}

/// A child that was just forked.
pub(crate) struct Forked {
    pub(crate) id: u64,
    pub(crate) process: Process,
    pub(crate) fate: watch::Receiver<Fate>,
}

impl Connection {
    /// Starts a fork server and waits until it has loaded Airflow.
    pub(crate) async fn start(options: &ForkServerOptions, given_up: Arc<GivenUp>) -> Result<Self> {
        let age = Stopwatch::start();
        let mark = mark();
        let (socket, theirs) = ControlSocket::pair()?;
        let (mut process, mut capture) = spawn(options, theirs, &mark)?;
        socket.send_packet(options.purpose.word().as_bytes(), &[sources::in_memory()?.as_fd()]).await?;
        let booted = tokio::time::timeout(options.boot_timeout, first_report(&socket)).await;
        let ready = match booted {
            Ok(Some(ready)) => ready,
            Ok(None) => return Err(boot_failure(options, &mut process, &mut capture).await),
            Err(_) => {
                drop(process.start_kill());
                drop(tokio::time::timeout(LAST_WORD, process.wait()).await);
                capture.finish().await;
                let output = capture.tail().text();
                return Err(Error::BootTimeout {
                    python: options.python.clone(),
                    timeout: options.boot_timeout,
                    output,
                });
            }
        };
        tell(options, &ready, &age);
        let pid = process
            .id()
            .and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed()))
            .ok_or(Error::Lost)?;
        let server = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
        let (socket, children) = (Arc::new(socket), Arc::new(Children::default()));
        let (losing, lost) = watch::channel(false);
        let tail = capture.tail().clone();
        let pump = tokio::spawn(pump(Arc::clone(&socket), Arc::clone(&children), losing.clone()));
        tokio::spawn(watch_process(process, capture, Arc::clone(&children), losing.clone(), mark));
        Ok(Self {
            socket,
            children,
            next: AtomicU64::new(0),
            pump: pump.abort_handle(),
            losing,
            lost,
            given_up,
            _wanted: None,
            server,
            tail,
            age,
            answer_timeout: options.answer_timeout,
            sdk_version: ready.sdk,
            is_zygote: false,
        })
    }

    /// A template, which is a fork server too: a child of this one has become it, and speaks over this socket.
    pub(crate) fn of_zygote(&self, socket: ControlSocket, mut zygote: Child) -> Result<Self> {
        let server = zygote.process()?;
        let (socket, children) = (Arc::new(socket), Arc::new(Children::default()));
        let (losing, lost) = watch::channel(false);
        let pump = tokio::spawn(pump(Arc::clone(&socket), Arc::clone(&children), losing.clone()));
        let (all, end) = (Arc::clone(&children), losing.clone());
        let (wanted, unwanted) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = zygote.wait() => Some(ended),
                _ = unwanted => tokio::time::timeout(LAST_WORD, zygote.wait()).await.ok(),
            };
            if ended.is_none() {
                drop(zygote.end().await);
            }
            end.send_replace(true);
            all.lose_all();
        });
        Ok(Self {
            socket,
            children,
            next: AtomicU64::new(0),
            pump: pump.abort_handle(),
            losing,
            lost,
            given_up: Arc::clone(&self.given_up),
            _wanted: Some(wanted),
            server,
            tail: Tail::default(),
            age: Stopwatch::start(),
            answer_timeout: self.answer_timeout,
            sdk_version: self.sdk_version.clone(),
            is_zygote: true,
        })
    }

    /// The version of Airflow's Task SDK that it has loaded.
    pub(crate) fn sdk_version(&self) -> &str {
        &self.sdk_version
    }

    /// Whether the fork server is gone.
    pub(crate) fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    /// What its death is called.
    pub(crate) fn loss(&self) -> Error {
        if self.is_zygote { Error::ZygoteLost } else { Error::Lost }
    }

    /// What it printed last.
    pub(crate) fn tail(&self) -> String {
        self.tail.text()
    }

    /// How long ago it was started.
    pub(crate) fn age(&self) -> Duration {
        self.age.elapsed()
    }

    /// Forks a child whose ends of the streams are these.
    pub(crate) async fn fork(
        &self,
        entry: &'static str,
        memory: Option<u64>,
        ends: &[BorrowedFd<'_>],
    ) -> Result<Forked> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (forked, answer) = oneshot::channel();
        let (fate_sender, fate) = watch::channel(Fate::Lives);
        self.children.insert(id, Waiting { forked: Some(forked), given_up: None, fate: fate_sender });
        // The loss may have come before the entry, and it would not be reported any more.
        if self.is_lost() {
            self.children.lose_all();
        }
        let order = Order::Fork { fork: id, entry, memory };
        let asked = async {
            self.socket.send(&order, ends).await?;
            Result::Ok(answer.await)
        };
        match tokio::time::timeout(self.answer_timeout, asked).await {
            Ok(Ok(Ok(Ok(process)))) => Ok(Forked { id, process, fate }),
            Ok(Ok(Ok(Err(error)))) => Err(error),
            Ok(Ok(Err(_))) => Err(self.loss()),
            // The system did not take the order. The fork server knows nothing of it, and has other children.
            Ok(Err(error)) if error.is_for_now() => {
                self.children.remove(id);
                Err(error)
            }
            Ok(Err(_)) | Err(_) => {
                self.give_up().await;
                Err(self.loss())
            }
        }
    }

    /// Has the fork server kill what a child has started that cannot be killed itself. False if it does not answer.
    pub(crate) async fn give_up_child(&self, id: u64) -> bool {
        let Some(answer) = self.children.giving_up(id) else { return true };
        let asked = async {
            self.socket.send(&Order::GiveUp { give_up: id }, &[]).await?;
            // If the caller is gone, the child has ended, or is lost with the fork server.
            drop(answer.await);
            Result::Ok(())
        };
        tokio::time::timeout(self.answer_timeout, asked).await.is_ok_and(|asked| asked.is_ok())
    }

    /// Sends a signal to a child's process group.
    pub(crate) fn signal(&self, id: u64, number: i32) {
        // A socket without room has a fork server behind it that does not answer; the child's own descriptor is left.
        if let Err(error) = self.socket.try_send(&Order::Signal { signal: id, number }) {
            tracing::debug!(%error, "a signal could not be handed to the fork server");
        }
    }

    /// Lets the fork server end, with its children.
    pub(crate) fn close(&self) {
        self.socket.close();
    }

    /// Kills a fork server that does not answer, and waits for its end; its children follow. One that cannot be killed
    /// is taken for lost: what waits for one of its children sees to the end of that.
    pub(crate) async fn give_up(&self) {
        tracing::warn!(is_zygote = self.is_zygote, "Python's fork server does not answer; it is killed");
        let _ = rustix::process::pidfd_send_signal(&self.server, Signal::KILL);
        if tokio::time::timeout(LAST_WORD, self.lost()).await.is_err() {
            tracing::error!(
                is_zygote = self.is_zygote,
                "Python's fork server cannot be killed; it is replaced"
            );
            self.losing.send_replace(true);
            self.children.lose_all();
        }
    }

    /// Waits until its process has ended.
    pub(crate) async fn lost(&self) {
        let mut lost = self.lost.clone();
        drop(lost.wait_for(|lost| *lost).await);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The socket goes with the pump; the fork server sees that, kills its children and ends.
        self.pump.abort();
    }
}

/// Hands reports on until the fork server is gone.
async fn pump(socket: Arc<ControlSocket>, children: Arc<Children>, losing: watch::Sender<bool>) {
    loop {
        match socket.receive().await {
            Ok(Some((report, descriptors))) => {
                if let Some(unwanted) = children.apply(report, descriptors) {
                    let order = Order::Signal { signal: unwanted, number: Signal::KILL.as_raw() };
                    drop(socket.try_send(&order));
                }
            }
            Ok(None) => break,
            // The packet is still there.
            Err(error) if error.is_for_now() => tokio::time::sleep(UNTIL_ROOM).await,
            Err(error) => {
                tracing::warn!("the fork server's control socket failed: {}", chain(&error));
                break;
            }
        }
    }
    losing.send_replace(true);
    children.lose_all();
    socket.close();
}

/// Waits for the end of the process, and kills what it leaves behind.
async fn watch_process(
    mut process: tokio::process::Child,
    mut capture: Capture,
    children: Arc<Children>,
    losing: watch::Sender<bool>,
    mark: String,
) {
    let status = process.wait().await;
    losing.send_replace(true);
    children.lose_all();
    capture.finish().await;
    if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
        tracing::warn!(?status, "Python's fork server ended");
        drop(tokio::task::spawn_blocking(move || strays::kill(&mark)).await);
    }
}
