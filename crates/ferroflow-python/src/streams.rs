//! Pipes that are read together, so that what comes through them is passed on in its order.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::{Errno, ioctl_fionread};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use crate::output::{Sink, Stream, Tail};

/// A longer line is passed on in pieces.
const MAX_LINE: usize = 64 << 10;
/// The same for structured logs: a piece of a record is none.
const MAX_RECORD: usize = 4 << 20;
const READ: usize = 16 << 10;

/// How far lines are passed on that have no end yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// They are kept: their end is about to come.
    Lines,
    /// As far as they may be cut.
    Now,
    /// All of them: nothing more comes.
    End,
}

/// The streams of a process, as far as they were read.
pub(crate) struct Streams {
    /// Logs come last.
    pipes: Vec<(Stream, Receiver)>,
    /// Of each pipe.
    begun: Mutex<Vec<Begun>>,
    sink: Arc<dyn Sink>,
    tail: Tail,
}

impl fmt::Debug for Streams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Streams").field("pipes", &self.pipes).finish_non_exhaustive()
    }
}

impl Streams {
    pub(crate) fn of(streams: Vec<(Stream, OwnedFd)>, sink: Arc<dyn Sink>) -> std::io::Result<Self> {
        let open = |(stream, descriptor)| Ok((stream, Receiver::from_owned_fd(descriptor)?));
        let mut pipes = streams.into_iter().map(open).collect::<std::io::Result<Vec<_>>>()?;
        pipes.sort_by_key(|(stream, _)| *stream == Stream::Log);
        let begun = pipes.iter().map(|_| Begun::default()).collect();
        Ok(Self { pipes, begun: Mutex::new(begun), sink, tail: Tail::default() })
    }

    /// Reads to the end, or until it is told to stop.
    pub(crate) async fn read(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            () = self.read_to_end() => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
        self.pass_on(Until::End);
    }

    pub(crate) fn tail(&self) -> &Tail {
        &self.tail
    }

    async fn read_to_end(&self) {
        while self.has_something().await {
            self.pass_on(Until::Lines);
            tokio::task::consume_budget().await;
        }
    }

    /// Waits until there is something to read. False if there never will be.
    async fn has_something(&self) -> bool {
        let [first, second, third] = [0, 1, 2].map(|number| self.open_pipe(number));
        if first.or(second).or(third).is_none() {
            return false;
        }
        tokio::select! {
            () = readable(first) => {}
            () = readable(second) => {}
            () = readable(third) => {}
        }
        true
    }

    fn open_pipe(&self, number: usize) -> Option<&Receiver> {
        let is_open = self.lock().get(number).is_some_and(|begun| !begun.is_closed);
        self.pipes.get(number).filter(|_| is_open).map(|(_, pipe)| pipe)
    }

    /// Passes on what is in the pipes, in the order of its times.
    ///
    /// A record has the time at which it was made, and what is printed that at which it is read. So the logs are read
    /// when what was printed has been: all that was logged before is there then, and is passed on first.
    pub(crate) fn pass_on(&self, until: Until) {
        let mut printed = Vec::new();
        let mut begun = self.lock();
        for ((stream, pipe), begun) in self.pipes.iter().zip(begun.iter_mut()) {
            let mut lines = Vec::new();
            begun.read(pipe, |begun, bytes| begun.take(bytes, *stream, self.sink.as_ref(), &mut lines));
            begun.come_to_an_end(until, *stream, self.sink.as_ref(), &mut lines);
            match stream {
                Stream::Log => lines.iter().for_each(|line| self.sink.line(*stream, line)),
                Stream::Stdout | Stream::Stderr => printed.push((*stream, lines)),
            }
        }
        for (stream, lines) in printed {
            for line in lines {
                self.tail.push(&line);
                self.sink.line(stream, &line);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // What is wrong with it, reading tells.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

/// What was read of a stream and not passed on: the line that has begun.
#[derive(Default)]
struct Begun {
    line: Vec<u8>,
    is_closed: bool,
}

impl Begun {
    /// Reads what is there at this moment: a process may go on writing for ever.
    ///
    /// The runtime learns that there is something only when it looks, which may be later. So the pipe itself is asked.
    fn read(&mut self, pipe: &Receiver, mut take: impl FnMut(&mut Self, &[u8])) {
        let mut buffer = [0; READ];
        let mut left = ioctl_fionread(pipe).unwrap_or(0);
        if left == 0 && !self.is_closed {
            // It notes that there is nothing, or tells that there never will be.
            match pipe.try_read(&mut buffer) {
                Ok(0) => self.is_closed = true,
                Ok(length) => take(self, &buffer[..length]),
                Err(error) => self.is_closed = error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
        while left > 0 {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    take(self, &buffer[..length]);
                    left = left.saturating_sub(length as u64);
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.is_closed = error != Errno::AGAIN;
                    break;
                }
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8], stream: Stream, sink: &dyn Sink, lines: &mut Vec<String>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            lines.push(self.rest());
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        let longest = if stream == Stream::Log { MAX_RECORD } else { MAX_LINE };
        if self.line.len() >= longest {
            let piece = self.cut(sink, str::len);
            lines.push(piece);
        }
    }

    /// What becomes of the line that has begun when there is nothing more to read.
    fn come_to_an_end(&mut self, until: Until, stream: Stream, sink: &dyn Sink, lines: &mut Vec<String>) {
        match until {
            Until::End if !self.line.is_empty() => lines.push(self.rest()),
            Until::Now if !self.line.is_empty() && stream != Stream::Log => {
                lines.extend(Some(self.cut(sink, |_| 0)).filter(|piece| !piece.is_empty()));
            }
            Until::Lines | Until::Now | Until::End => {}
        }
    }

    /// Cuts a piece off where its reader says; where `otherwise` says if that is nowhere.
    fn cut(&mut self, sink: &dyn Sink, otherwise: impl Fn(&str) -> usize) -> String {
        let begun = self.line.split_off(whole_characters(&self.line));
        let mut line = String::from_utf8_lossy(&self.line).into_owned();
        let end = Some(sink.cut(&line)).filter(|end| *end > 0).unwrap_or_else(|| otherwise(&line));
        let rest = line.split_off(end);
        self.line = [rest.as_bytes(), &begun].concat();
        line
    }

    fn rest(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned()
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

    /// Does not let a word be cut.
    struct Words;

    impl Sink for Words {
        fn line(&self, _: Stream, _: &str) {}

        fn cut(&self, line: &str) -> usize {
            line.rfind(' ').map_or(0, |space| space + 1)
        }
    }

    #[test]
    fn a_long_line_is_cut_where_its_reader_says() {
        let (mut begun, mut lines) = (Begun::default(), Vec::new());
        let (short, long) = ("a ".repeat(MAX_LINE / 2 - 1), "b".repeat(MAX_LINE));
        let half = "€".as_bytes().split_at(2);
        for piece in [short.as_bytes(), half.0, half.1, b"unbroken word\n", long.as_bytes(), b"b\n"] {
            begun.take(piece, Stream::Stdout, &Words, &mut lines);
        }
        assert_eq!(lines, [short.as_str(), "€unbroken word", &long, "b"]);
    }
}
