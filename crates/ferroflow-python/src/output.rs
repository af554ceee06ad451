//! What Python prints: read as it comes, bounded, and passed on line by line.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::streams::{Streams, Until};

/// How much is kept for the text of an error.
const TAIL_LINES: usize = 40;
const TAIL_LINE: usize = 1000;

/// Where a line was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The channel of structured logs: each line is a JSON object.
    Log,
}

/// Who is given the lines. It is called from a task of the runtime, and must not wait for long.
pub trait Sink: Send + Sync {
    /// A line, without its end. A line that is too long comes in pieces.
    fn line(&self, stream: Stream, line: &str);

    /// How much of a line that is too long is passed on; the rest is, with what follows. All of it if that is nothing.
    fn cut(&self, _line: &str) -> usize {
        0
    }
}

/// The lines that were printed last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    pub(crate) fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == TAIL_LINES {
            lines.pop_front();
        }
        let end = line.floor_char_boundary(TAIL_LINE);
        lines.push_back(line[..end].to_owned());
    }

    pub(crate) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// The reading of a process's streams.
#[derive(Debug)]
pub(crate) struct Capture {
    streams: Arc<Streams>,
    stop: watch::Sender<bool>,
    reader: JoinSet<()>,
}

impl Capture {
    /// Starts to read. Standard output and error go into the tail as well as into the sink.
    pub(crate) fn start(streams: Vec<(Stream, OwnedFd)>, sink: &Arc<dyn Sink>) -> std::io::Result<Self> {
        let streams = Arc::new(Streams::of(streams, Arc::clone(sink))?);
        let stop = watch::Sender::new(false);
        let mut reader = JoinSet::new();
        reader.spawn(Arc::clone(&streams).read(stop.subscribe()));
        Ok(Self { streams, stop, reader })
    }

    /// What was printed last.
    pub(crate) fn tail(&self) -> &Tail {
        self.streams.tail()
    }

    /// For a caller that wants all that was printed so far.
    pub(crate) fn output(&self) -> Output {
        Output(Arc::clone(&self.streams))
    }

    /// To be called when the process has ended: reads what is there, and does not wait for a process that still holds a pipe.
    pub(crate) async fn finish(&mut self) {
        self.stop.send_replace(true);
        while self.reader.join_next().await.is_some() {}
    }
}

/// What a process prints and logs.
#[derive(Clone, Debug)]
pub struct Output(Arc<Streams>);

impl Output {
    /// Has everything passed on that was printed and logged up to now, whatever is about to read it.
    pub fn catch_up(&self) {
        self.0.pass_on(Until::Now);
    }
}

/// One more channel of structured logs, for a process that a child has become or started.
#[derive(Debug)]
pub struct LogChannel(Capture);

impl LogChannel {
    /// The channel, and the end for the process that writes to it.
    pub fn open(sink: &Arc<dyn Sink>) -> std::io::Result<(Self, OwnedFd)> {
        let (log, log_end) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self(Capture::start(vec![(Stream::Log, log)], sink)?), log_end))
    }

    /// What comes through it.
    pub fn output(&self) -> Output {
        self.0.output()
    }

    /// To be called when the process has ended: reads what is there.
    pub async fn finish(mut self) {
        self.0.finish().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the lines, and does not let a word be cut.
    #[derive(Default)]
    struct Words(Mutex<Vec<String>>);

    impl Words {
        fn lines(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Sink for Words {
        fn line(&self, _: Stream, line: &str) {
            self.0.lock().unwrap().push(line.to_owned());
        }

        fn cut(&self, line: &str) -> usize {
            line.rfind(' ').map_or(0, |space| space + 1)
        }
    }

    /// Streams that are read, and their other ends: standard output, error and the log.
    fn captured(sink: &Arc<Words>) -> (Capture, [OwnedFd; 3]) {
        let [stdout, stderr, log] = [0; 3].map(|_| pipe_with(PipeFlags::CLOEXEC).unwrap());
        let sink = Arc::clone(sink) as Arc<dyn Sink>;
        let streams = vec![(Stream::Stdout, stdout.0), (Stream::Stderr, stderr.0), (Stream::Log, log.0)];
        (Capture::start(streams, &sink).unwrap(), [stdout.1, stderr.1, log.1])
    }

    fn write(end: &OwnedFd, text: &str) {
        assert_eq!(rustix::io::write(end, text.as_bytes()).unwrap(), text.len());
    }

    async fn wait_for(words: &Words, line: &str) {
        while !words.lines().iter().any(|found| found == line) {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_was_written_last_is_read_though_the_runtime_has_not_noticed_it() {
        let words = Arc::new(Words::default());
        let (mut capture, ends) = captured(&words);
        write(&ends[0], "first\n");
        wait_for(&words, "first").await;
        // Now the reader waits. Nothing of this is known to it when it is told to come to an end.
        for (end, text) in ends.iter().zip(["printed\nwithout an end", "an error\n", "logged\n"]) {
            write(end, text);
        }
        capture.finish().await;
        assert_eq!(words.lines(), ["first", "logged", "printed", "without an end", "an error"]);
    }

    #[tokio::test]
    async fn what_was_logged_before_something_was_printed_comes_before_it() {
        let words = Arc::new(Words::default());
        let (mut capture, ends) = captured(&words);
        for number in 0..50 {
            let (before, record, line) =
                (format!("before {number}"), format!("record {number}"), format!("line {number}"));
            // Standard output or error is the first to have something.
            for (end, text) in [(number % 2, &before), (2, &record), (number % 2, &line)] {
                write(&ends[end], &format!("{text}\n"));
            }
            wait_for(&words, &line).await;
            let lines = words.lines();
            let place = |text: &String| lines.iter().position(|line| line == text).unwrap();
            assert!(place(&record) < place(&line) && place(&before) < place(&line), "{lines:?}");
        }
        capture.finish().await;
    }

    #[tokio::test]
    async fn whoever_catches_up_has_all_that_was_written_before_and_no_more() {
        let words = Arc::new(Words::default());
        let (mut capture, ends) = captured(&words);
        let output = capture.output();
        write(&ends[1], "an error\n50 % ");
        write(&ends[2], "logged\n{\"half\": ");
        output.catch_up();
        // Nothing was awaited. A line may be cut where its reader says, a record may not.
        assert_eq!(words.lines(), ["logged", "an error", "50 % "]);
        write(&ends[2], "1}\n");
        write(&ends[1], "100 %\n");
        output.catch_up();
        drop(ends);
        capture.finish().await;
        assert_eq!(words.lines()[3..], ["{\"half\": 1}", "100 %"]);
    }
}
