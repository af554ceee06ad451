//! Logs of the process itself, on standard error.

use std::io::{self, IsTerminal};

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A level of Python's logging that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a log level; use CRITICAL, ERROR, WARNING, INFO or DEBUG")]
pub struct UnknownLevel(String);

/// Logs to standard error from now on, at a level that Python's logging has a word for
/// (`[logging] logging_level`).
pub fn log_to_stderr(level: &str) -> Result<(), UnknownLevel> {
    let level = parse(level)?;
    // The libraries below us have more to say than anybody wants to read; ask them only when debugging.
    let others = if level == Level::DEBUG { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(level == Level::DEBUG);
    let filter = Targets::new().with_target("ferroflow", level).with_default(others);
    // A second call (of a test, in the same process) changes nothing.
    drop(tracing_subscriber::registry().with(filter).with(lines).try_init());
    Ok(())
}

fn parse(level: &str) -> Result<Level, UnknownLevel> {
    match level.to_ascii_uppercase().as_str() {
        "CRITICAL" | "FATAL" | "ERROR" => Ok(Level::ERROR),
        "WARNING" | "WARN" => Ok(Level::WARN),
        "INFO" => Ok(Level::INFO),
        "DEBUG" | "NOTSET" => Ok(Level::DEBUG),
        _ => Err(UnknownLevel(level.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pythons_words_for_levels_are_known() {
        let known = ["CRITICAL", "error", "Warning", "INFO", "debug"].map(|word| parse(word).unwrap());
        assert_eq!(known, [Level::ERROR, Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG]);
        assert!(parse("loud").unwrap_err().to_string().contains("\"loud\""));
    }
}
