//! The fork server begins: its process, its first word, and what is said if none comes.

use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroflow_telemetry::clock::Stopwatch;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::process::Command;

use crate::connection::LAST_WORD;
use crate::control::{ControlSocket, Ready, Report};
use crate::options::ForkServerOptions;
use crate::output::{Capture, Sink, Stream};
use crate::{Error, Result, descriptors, sources, strays};

/// Starts the process.
pub(crate) fn spawn(
    options: &ForkServerOptions,
    control: OwnedFd,
    mark: &str,
) -> Result<(tokio::process::Child, Capture)> {
    let (stdout, stdout_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let (stderr, stderr_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let mut command = Command::new(&options.python);
    if !options.inherit_environment {
        command.env_clear();
    }
    let process = command
        .args(["-c", sources::BOOTSTRAP])
        .envs(options.environment.iter().map(|(name, value)| (name, value)))
        .env(strays::MARK, mark)
        .stdin(Stdio::from(control))
        .stdout(Stdio::from(stdout_end))
        .stderr(Stdio::from(stderr_end))
        .spawn()
        .map_err(|source| Error::Start { python: options.python.clone(), source })?;
    descriptors::restore_limit(process.id());
    let sink: Arc<dyn Sink> = Arc::new(ServerLog);
    let capture = Capture::start(vec![(Stream::Stdout, stdout), (Stream::Stderr, stderr)], &sink)?;
    Ok((process, capture))
}

/// What the fork server itself prints.
struct ServerLog;

impl Sink for ServerLog {
    fn line(&self, _: Stream, line: &str) {
        tracing::info!(target: "ferroflow::python", "{line}");
    }
}

/// Unique among the fork servers of this machine, also after this process was replaced by one of the same number.
pub(crate) fn mark() -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let now = ferroflow_telemetry::clock::now().as_microsecond();
    format!("{}-{now}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed))
}

/// What it says first: that it is ready. Nothing if it has ended.
pub(crate) async fn first_report(socket: &ControlSocket) -> Option<Ready> {
    match socket.receive().await {
        Ok(Some((Report::Ready { ready }, _))) => Some(*ready),
        _ => None,
    }
}

/// Why it has ended before it was ready.
pub(crate) async fn boot_failure(
    options: &ForkServerOptions,
    process: &mut tokio::process::Child,
    capture: &mut Capture,
) -> Error {
    drop(process.start_kill());
    let status = match tokio::time::timeout(LAST_WORD, process.wait()).await {
        Ok(ended) => ended.map_or_else(|error| error.to_string(), |status| status.to_string()),
        Err(_) => "it cannot be killed".to_owned(),
    };
    capture.finish().await;
    let output = capture.tail().text();
    match exhaustion(&output) {
        Some(reason) => Error::Exhausted(format!("{} cannot start: {reason}", options.python.display())),
        None => Error::Boot { python: options.python.clone(), status, output },
    }
}

/// What the system was out of, if Python's last word says so.
fn exhaustion(output: &str) -> Option<&str> {
    const WORDS: [&str; 6] = [
        "MemoryError",
        "Cannot allocate memory",
        "Resource temporarily unavailable",
        "Too many open files",
        "No buffer space available",
        "can't start new thread",
    ];
    let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    WORDS.iter().any(|word| last.contains(word)).then_some(last)
}

/// Logs what it has loaded.
pub(crate) fn tell(options: &ForkServerOptions, ready: &Ready, age: &Stopwatch) {
    let (python, seconds) = (options.python.display(), age.elapsed().as_secs_f64());
    tracing::info!(%python, airflow = ready.airflow, version = ready.python, seconds, "Python's fork server is ready");
    tracing::debug!(
        warm_up_seconds = ready.seconds,
        warm_up_dags = ready.dags,
        "what the fork server did first"
    );
    if ready.threads > 1 {
        tracing::warn!(threads = ready.threads, "the fork server has threads, which its children will lack");
    }
    for error in &ready.errors {
        tracing::warn!(error, "the fork server could not be warmed up; parsing will be slower");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_tells_whether_the_system_was_out_of_something() {
        let said = [
            "Traceback (most recent call last):\n  File \"x\", line 1\nMemoryError\n",
            "OSError: [Errno 12] Cannot allocate memory",
            "BlockingIOError: [Errno 11] Resource temporarily unavailable\n\n",
            "OSError: [Errno 24] Too many open files: '/proc/self/maps'",
            "RuntimeError: can't start new thread",
        ];
        for output in said {
            assert!(exhaustion(output).is_some(), "{output}");
        }
        let other = [
            "",
            "ModuleNotFoundError: No module named 'airflow'",
            "MemoryError\nairflow.exceptions.AirflowConfigException: no such key",
            "ImportError: libgomp.so: cannot allocate memory in static TLS block",
        ];
        for output in other {
            assert_eq!(exhaustion(output), None, "{output}");
        }
    }
}
