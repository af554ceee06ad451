//! What Python prints: read as it comes, bounded, and passed on line by line.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A longer line is passed on in pieces.
const MAX_LINE: usize = 64 << 10;
/// The same for structured logs: a piece of a record is none.
const MAX_RECORD: usize = 4 << 20;
/// How much is kept for the text of an error.
const TAIL_LINES: usize = 40;
const TAIL_LINE: usize = 1000;
/// How much is still read once the process has ended: more than a pipe holds.
const LAST_READS: usize = 64;
const READ: usize = 16 << 10;

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
    tail: Tail,
    stop: watch::Sender<bool>,
    readers: JoinSet<()>,
}

impl Capture {
    /// Starts to read. Standard output and error go into the tail as well as into the sink.
    pub(crate) fn start(streams: Vec<(Stream, OwnedFd)>, sink: &Arc<dyn Sink>) -> std::io::Result<Self> {
        let tail = Tail::default();
        let stop = watch::Sender::new(false);
        let mut readers = JoinSet::new();
        for (stream, descriptor) in streams {
            let pipe = Receiver::from_owned_fd(descriptor)?;
            let reader = Reader { stream, pipe, line: Vec::new(), open: true };
            readers.spawn(reader.read(Arc::clone(sink), tail.clone(), stop.subscribe()));
        }
        Ok(Self { tail, stop, readers })
    }

    /// What was printed last.
    pub(crate) fn tail(&self) -> &Tail {
        &self.tail
    }

    /// To be called when the process has ended: reads what is there, and waits for nobody who still holds a pipe.
    pub(crate) async fn finish(&mut self) {
        self.stop.send_replace(true);
        while self.readers.join_next().await.is_some() {}
    }
}

/// How much of a text that goes on can be cut off without cutting a character.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // The last character may come to its end with the next bytes.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// One more channel of structured logs, for a process that a child has become or started.
#[derive(Debug)]
pub struct LogChannel(Capture);

impl LogChannel {
    /// The channel, and the end for whoever is to write to it.
    pub fn open(sink: &Arc<dyn Sink>) -> std::io::Result<(Self, OwnedFd)> {
        let (log, log_end) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self(Capture::start(vec![(Stream::Log, log)], sink)?), log_end))
    }

    /// To be called when the process has ended: reads what is there.
    pub async fn finish(mut self) {
        self.0.finish().await;
    }
}

struct Reader {
    stream: Stream,
    pipe: Receiver,
    line: Vec<u8>,
    open: bool,
}

impl Reader {
    async fn read(mut self, sink: Arc<dyn Sink>, tail: Tail, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.read_to_end(sink.as_ref(), &tail) => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.read_what_is_there(sink.as_ref(), &tail);
    }

    async fn read_to_end(&mut self, sink: &dyn Sink, tail: &Tail) {
        while self.open && self.pipe.readable().await.is_ok() {
            self.read_once(sink, tail);
        }
    }

    fn read_what_is_there(&mut self, sink: &dyn Sink, tail: &Tail) {
        for _ in 0..LAST_READS {
            if !self.open || !self.read_once(sink, tail) {
                break;
            }
        }
        if !self.line.is_empty() {
            self.flush(sink, tail);
        }
    }

    /// Whether something was there.
    fn read_once(&mut self, sink: &dyn Sink, tail: &Tail) -> bool {
        let mut buffer = [0; READ];
        match self.pipe.try_read(&mut buffer) {
            Ok(0) => self.open = false,
            Ok(length) => self.take(&buffer[..length], sink, tail),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(_) => self.open = false,
        }
        true
    }

    fn take(&mut self, mut bytes: &[u8], sink: &dyn Sink, tail: &Tail) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            self.flush(sink, tail);
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        let longest = if self.stream == Stream::Log { MAX_RECORD } else { MAX_LINE };
        if self.line.len() >= longest {
            let begun = self.line.split_off(whole_characters(&self.line));
            let line = String::from_utf8_lossy(&self.line).into_owned();
            let end = Some(sink.cut(&line)).filter(|end| *end > 0).unwrap_or(line.len());
            let (piece, rest) = line.split_at(end);
            self.emit(piece, sink, tail);
            self.line = [rest.as_bytes(), &begun].concat();
        }
    }

    /// Passes on the line that has come to its end.
    fn flush(&mut self, sink: &dyn Sink, tail: &Tail) {
        let line = std::mem::take(&mut self.line);
        self.emit(&String::from_utf8_lossy(&line), sink, tail);
    }

    fn emit(&self, line: &str, sink: &dyn Sink, tail: &Tail) {
        if self.stream != Stream::Log {
            tail.push(line);
        }
        sink.line(self.stream, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let euro = "€".as_bytes();
        assert_eq!(whole_characters(&[b"ab", euro].concat()), 5);
        assert_eq!(whole_characters(&[b"ab", &euro[..2]].concat()), 2);
        assert_eq!(whole_characters(b"ab\xffcd"), 5, "what is no text is passed on as it is");
        assert_eq!(whole_characters(&euro[..1]), 1);
    }

    /// Keeps the lines, and does not let a word be cut.
    #[derive(Default)]
    struct Words(Mutex<Vec<String>>);

    impl Sink for Words {
        fn line(&self, _: Stream, line: &str) {
            self.0.lock().unwrap().push(line.to_owned());
        }

        fn cut(&self, line: &str) -> usize {
            line.rfind(' ').map_or(0, |space| space + 1)
        }
    }

    #[tokio::test]
    async fn a_long_line_is_cut_where_its_reader_says() {
        let (pipe, _end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let pipe = Receiver::from_owned_fd(pipe).unwrap();
        let mut reader = Reader { stream: Stream::Stdout, pipe, line: Vec::new(), open: true };
        let (words, tail) = (Words::default(), Tail::default());
        let (short, long) = ("a ".repeat(MAX_LINE / 2 - 1), "b".repeat(MAX_LINE));
        let half = "€".as_bytes().split_at(2);
        for piece in [short.as_bytes(), half.0, half.1, b"unbroken word\n", long.as_bytes(), b"b\n"] {
            reader.take(piece, &words, &tail);
        }
        let lines = words.0.lock().unwrap();
        assert_eq!(*lines, [short.as_str(), "€unbroken word", &long, "b"]);
    }
}
