//! One process of a helper: frames on a socket, and how to end it.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::{Child, ChildLimits, Entry, ForkServer, Sink, Stream};

/// An answer beyond this is a mistake: the longest are lists of a few thousand runs.
const MAX_ANSWER_LENGTH: u32 = 64 << 20;

/// How long a process that closed its channel may take to end by itself, so that its exit code is known.
const GRACE: Duration = Duration::from_millis(500);

/// A process that runs `ferroflow_bridge.helper.main` on the other end of a socket. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct HelperProcess {
    channel: UnixStream,
    child: Child,
}

impl HelperProcess {
    /// Forks one. What it prints goes to the log of this process.
    pub(super) async fn start(server: &ForkServer, purpose: &str) -> io::Result<Self> {
        let sink: Arc<dyn Sink> = Arc::new(Said { purpose: purpose.to_owned() });
        let forked = server.fork(Entry::Helper, ChildLimits::default(), &sink).await;
        let mut child = forked.map_err(io::Error::other)?;
        let channel = child.take_channel().ok_or_else(|| io::Error::other("its channel was taken"))?;
        Ok(Self { channel, child })
    }

    /// Sends a frame and receives one.
    pub(super) async fn ask(&mut self, request: &Value) -> io::Result<Value> {
        let body = request.to_string();
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        self.channel.write_all(&length.to_be_bytes()).await?;
        self.channel.write_all(body.as_bytes()).await?;
        let length = self.channel.read_u32().await?;
        if length > MAX_ANSWER_LENGTH {
            return Err(io::Error::other(format!("an answer of {length} bytes was announced")));
        }
        let mut answer = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.channel.read_exact(&mut answer).await?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Ends it, and tells how it ended; `None` if the fork server died, which is not its fault.
    pub(super) async fn end(&mut self) -> Option<String> {
        drop(self.channel.shutdown().await);
        match tokio::time::timeout(GRACE, self.child.wait()).await {
            Ok(Ok(exit)) => Some(described(exit.status)),
            Ok(Err(_)) => None,
            Err(_) => Some("it did not end by itself, and was killed".to_owned()),
        }
    }
}

/// What user code in a helper prints.
struct Said {
    purpose: String,
}

impl Sink for Said {
    fn line(&self, stream: Stream, line: &str) {
        match stream {
            Stream::Stdout | Stream::Stderr => tracing::info!(helper = self.purpose, "{line}"),
            Stream::Log => tracing::debug!(helper = self.purpose, "{line}"),
        }
    }
}

fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(9)) => "killed by signal 9; the system may have been out of memory".to_owned(),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "for an unknown reason".to_owned(),
    }
}
