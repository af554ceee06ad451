//! How far a command is that takes its time.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use ferroflow_telemetry::clock::Stopwatch;

use super::Format;

/// Tells on standard error how much is done: a line that changes on a terminal, a line now and then elsewhere.
pub(crate) struct Progress {
    of: usize,
    what: &'static str,
    watch: Stopwatch,
    rhythm: Option<Rhythm>,
    told: bool,
}

/// How often a line is written, and how it begins and ends.
#[derive(Clone, Copy)]
struct Rhythm {
    every: Duration,
    next: Duration,
    begin: &'static str,
    end: &'static str,
}

/// What is printed before and after a line that the next one is to replace; another program's line replaces it too.
const CLEAR: &str = "\x1b[K";
const BACK: &str = "\r";

impl Progress {
    /// Nothing is told to those who print for scripts.
    pub(crate) fn new(of: usize, what: &'static str, format: Format) -> Self {
        let every = |millis, begin, end| {
            let every = Duration::from_millis(millis);
            Some(Rhythm { every, next: every, begin, end })
        };
        let rhythm = match format {
            Format::Json | Format::Yaml => None,
            Format::Table | Format::Plain if io::stderr().is_terminal() => every(200, CLEAR, BACK),
            Format::Table | Format::Plain => every(10_000, "", "\n"),
        };
        Self { of, what, watch: Stopwatch::start(), rhythm, told: false }
    }

    /// So many are done. Not to be able to tell is no reason to stop.
    pub(crate) fn tell(&mut self, done: usize) {
        let elapsed = self.watch.elapsed();
        let Some(rhythm) = self.rhythm.as_mut().filter(|rhythm| elapsed >= rhythm.next) else { return };
        rhythm.next = elapsed + rhythm.every;
        let text = line(done, self.of, self.what, elapsed);
        drop(write!(io::stderr(), "{}{text}{}", rhythm.begin, rhythm.end));
        self.told = true;
    }
}

/// A line that was to be replaced is gone when all is done.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(rhythm) = self.rhythm.filter(|_| self.told) {
            drop(write!(io::stderr(), "{}", rhythm.begin));
        }
    }
}

fn line(done: usize, of: usize, what: &str, elapsed: Duration) -> String {
    format!("{done} of {of} {what}, {} s", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_is_done() {
        assert_eq!(line(3, 10, "files parsed", Duration::from_millis(61_900)), "3 of 10 files parsed, 61 s");
    }

    #[test]
    fn scripts_are_told_nothing_and_people_not_before_it_takes_long() {
        assert!(Progress::new(1, "files", Format::Json).rhythm.is_none());
        let mut progress = Progress::new(1, "files", Format::Table);
        progress.tell(1);
        assert!(!progress.told);
        progress.rhythm.as_mut().unwrap().next = Duration::ZERO;
        progress.tell(1);
        assert!(progress.told);
    }
}
