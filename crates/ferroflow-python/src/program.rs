//! Programs that are run to their end: interpreters that are asked for their version, and pip.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ferroflow_telemetry::clock;
use jiff::SignedDuration;
use rustix::process::{Pid, Signal, kill_process_group};

/// An interpreter tells its version in a twentieth of a second; on a network drive it may take longer.
const PROBE_LIMIT: SignedDuration = SignedDuration::from_secs(20);
/// How long a program that is told to stop may tidy up.
const GRACE: SignedDuration = SignedDuration::from_secs(5);
const TICK: Duration = Duration::from_millis(50);
/// How much of the end of what a program said is kept for a message.
const LAST_LINES: usize = 12;

/// Why a program did not come to a good end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    #[error("{0}")]
    NotStarted(#[from] std::io::Error),
    #[error("{status}{output}")]
    Failed { status: String, output: String },
    #[error("it did not end within {0:?}")]
    TimedOut(Duration),
    #[error("it was stopped")]
    Cancelled,
}

/// What a program prints.
pub(crate) fn output(program: &Path, arguments: &[&str]) -> Result<String, Stopped> {
    let mut printed = String::new();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    run(&mut command, Some(PROBE_LIMIT), &AtomicBool::new(false), &mut |line| {
        if let Line::Output(line) = line {
            printed.push_str(line);
            printed.push('\n');
        }
    })?;
    Ok(printed)
}

/// A line that a program prints.
pub(crate) enum Line<'a> {
    Output(&'a str),
    Complaint(&'a str),
}

/// Runs a program to its end, in a process group of its own, and hands on every line. It is stopped when `cancelled`
/// becomes true, or after the limit.
pub(crate) fn run(
    command: &mut Command,
    limit: Option<SignedDuration>,
    cancelled: &AtomicBool,
    on_line: &mut dyn FnMut(Line<'_>),
) -> Result<(), Stopped> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut running = Running(child);
    let lines = running.lines();
    let mut last = Vec::new();
    let started = clock::now();
    loop {
        if cancelled.load(Ordering::Relaxed) {
            running.stop();
            return Err(Stopped::Cancelled);
        }
        if let Some(limit) = limit.filter(|limit| clock::now().duration_since(started) > *limit) {
            return Err(Stopped::TimedOut(limit.unsigned_abs()));
        }
        match lines.recv_timeout(TICK) {
            Ok((is_output, line)) => {
                on_line(if is_output { Line::Output(&line) } else { Line::Complaint(&line) });
                last.push(line);
                let beyond = last.len().saturating_sub(LAST_LINES);
                last.drain(..beyond);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = running.0.wait()?;
    if status.success() {
        return Ok(());
    }
    let output = if last.is_empty() { String::new() } else { format!("\n    {}", last.join("\n    ")) };
    Err(Stopped::Failed { status: status.to_string(), output })
}

/// A program that is killed, with all that it started, when this is dropped before its end.
struct Running(Child);

impl Running {
    fn lines(&mut self) -> Receiver<(bool, String)> {
        let (sender, lines) = channel();
        if let Some(stdout) = self.0.stdout.take() {
            forward(stdout, true, sender.clone());
        }
        if let Some(stderr) = self.0.stderr.take() {
            forward(stderr, false, sender);
        }
        lines
    }

    /// Asks it to stop, as Ctrl-C does.
    fn stop(&mut self) {
        self.signal(Signal::INT);
        let asked = clock::now();
        while clock::now().duration_since(asked) < GRACE && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(TICK);
        }
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may have ended in the meantime.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            drop(self.0.wait());
        }
    }
}

fn forward(stream: impl Read + Send + 'static, is_output: bool, lines: Sender<(bool, String)>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if lines.send((is_output, line)).is_err() {
                break;
            }
        }
    });
}
