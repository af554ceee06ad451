//! What came of a parse.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use std::os::unix::process::ExitStatusExt as _;

use crate::child::Usage;
use crate::parse::ParsedFile;

/// A finished parse.
#[derive(Clone, Debug)]
pub struct ParseReport {
    /// What came of it.
    pub outcome: ParseOutcome,
    /// How long it took, from asking for a child to its end.
    pub duration: Duration,
    /// What the child used.
    pub usage: Usage,
}

/// What came of a parse.
#[derive(Clone, Debug, PartialEq)]
pub enum ParseOutcome {
    /// The file was parsed; it may still have import errors.
    Parsed(ParsedFile),
    /// The callbacks were run. How each went is in the child's log, as with Airflow.
    CallbacksRun,
    /// The child told nothing before it ended.
    Failed(Failure),
}

/// Why there is no result. Its text is for the people who wrote the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What happened.
    pub cause: Cause,
    /// The last lines that the child printed.
    pub tail: String,
}

/// What happened to a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// It took too long and was killed.
    TimedOut(Duration),
    /// It ran out of the memory that it may use.
    OutOfMemory(u64),
    /// It ended, by itself or by a signal.
    Ended(ExitStatus),
    /// It wrote what is not a frame, or not a result.
    Garbled(String),
    /// The fork server died as often as this file was tried.
    ForkServerLost(u32),
    /// The process that was to parse it before cannot be killed. It was not tried again.
    CannotBeKilled(i32),
    /// A callback is JSON that cannot be read. No callback of the request was run.
    UnreadableCallback(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        if self.tail.trim().is_empty() {
            return Ok(());
        }
        write!(f, "\n\nIts last lines of output:\n{}", self.tail)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(timeout) => write!(
                f,
                "The file was not parsed within {} s, and the process was killed ([dag_processor] \
                 dag_file_processor_timeout).",
                timeout.as_secs_f64()
            ),
            Self::OutOfMemory(limit) => write!(
                f,
                "The process that parsed the file ran out of memory: it may use {} MiB.",
                limit / (1 << 20)
            ),
            Self::Ended(status) => describe_end(f, *status),
            Self::Garbled(reason) => write!(
                f,
                "The process that parsed the file wrote to file descriptor 0, which belongs to ferroflow: {reason}."
            ),
            Self::ForkServerLost(attempts) => write!(
                f,
                "The file was tried {attempts} times, and each time Python's fork server died. Does it kill other \
                 processes?"
            ),
            Self::CannotBeKilled(pid) => write!(
                f,
                "The process that parsed the file before ({pid}) was killed and does not end: it waits in the kernel, \
                 most likely for a file system that does not answer. The file is parsed again once it is gone."
            ),
            Self::UnreadableCallback(problem) => {
                write!(f, "The callback was not run: it {problem}.")
            }
        }
    }
}

fn describe_end(f: &mut fmt::Formatter<'_>, status: ExitStatus) -> fmt::Result {
    if let Some(code) = status.code() {
        return write!(
            f,
            "The process that parsed the file ended with exit code {code} before it was done. Does the file call \
             os._exit()?"
        );
    }
    // `signal: 11 (SIGSEGV)`
    let signal = status.to_string().replacen("signal: ", "signal ", 1);
    let hint = match status.signal() {
        Some(9) => " The system sends it when memory runs out.",
        Some(4 | 6 | 7 | 8 | 11) => " A library in native code crashed.",
        _ => "",
    };
    write!(f, "The process that parsed the file was killed by {signal}.{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cause: Cause, tail: &str) -> String {
        Failure { cause, tail: tail.to_owned() }.to_string()
    }

    #[test]
    fn a_failure_says_what_happened_and_shows_the_last_output() {
        let crash = text(Cause::Ended(ExitStatus::from_raw(11)), "Fatal Python error");
        assert_eq!(
            crash,
            "The process that parsed the file was killed by signal 11 (SIGSEGV). A library in native code crashed.\n\
             \nIts last lines of output:\nFatal Python error"
        );
        assert!(text(Cause::Ended(ExitStatus::from_raw(9)), "").ends_with("when memory runs out."));
        assert!(text(Cause::Ended(ExitStatus::from_raw(7 << 8)), "").contains("exit code 7"));
        assert!(text(Cause::TimedOut(Duration::from_millis(1500)), "").contains("within 1.5 s"));
        let unreadable = Cause::UnreadableCallback("is nested too deep".to_owned());
        assert_eq!(text(unreadable, ""), "The callback was not run: it is nested too deep.");
        assert!(text(Cause::CannotBeKilled(4711), "").contains("(4711) was killed and does not end"));
        assert!(text(Cause::OutOfMemory(1 << 30), "").contains("1024 MiB"));
    }
}
