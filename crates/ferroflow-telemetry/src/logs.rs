//! Logs of the process itself: on standard error, or in the file of a daemon.

mod json;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::sync::Arc;

use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A level of Python's logging that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a log level; use CRITICAL, ERROR, WARNING, INFO or DEBUG")]
pub struct UnknownLevel(String);

/// Where logs go, and what they look like.
#[derive(Debug, Default)]
pub struct LogForm {
    /// Whether each line is a JSON object (`[logging] json_logs`).
    pub is_json: bool,
    /// The file; standard error if there is none.
    pub file: Option<File>,
}

/// Logs from now on, at a level that Python's logging has a word for (`[logging] logging_level`).
pub fn start_logging(level: &str, form: LogForm) -> Result<(), UnknownLevel> {
    let level = parse(level)?;
    // The libraries below us have more to say than anybody wants to read; ask them only when debugging.
    let others = if level == Level::DEBUG { LevelFilter::DEBUG } else { LevelFilter::WARN };
    let is_colored = form.file.is_none() && io::stderr().is_terminal();
    let writer = match form.file {
        Some(file) => BoxMakeWriter::new(Arc::new(file)),
        None => BoxMakeWriter::new(io::stderr),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(is_colored);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = if form.is_json {
        lines.event_format(json::JsonLines).boxed()
    } else {
        lines.with_target(level == Level::DEBUG).boxed()
    };
    let filter = Targets::new().with_target("ferroflow", level).with_default(others);
    // A second call (of a test, in the same process) changes nothing.
    drop(tracing_subscriber::registry().with(lines.with_filter(filter)).try_init());
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
