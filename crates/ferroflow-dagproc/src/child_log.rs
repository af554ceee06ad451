//! What children print and log: one file per DAG file and day, as Airflow lays them out.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ferroflow_python::{Sink, Stream};
use ferroflow_telemetry::clock;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::Date};
use serde_json::Value;

use ferroflow_execution::Masker;

/// More than this of one child is not kept: a file that prints without end must not fill the disk.
const MAX_PER_CHILD: usize = 16 << 20;
/// Lines are written together: one that prints much would otherwise wait for each of them.
const TOGETHER: usize = 64 << 10;

/// Where the lines of children go.
#[derive(Clone, Debug)]
pub(crate) struct ChildLogs {
    folder: PathBuf,
    /// Also to the log of this process (`[logging] dag_processor_log_target`).
    echo: bool,
    masker: Arc<Masker>,
}

impl ChildLogs {
    pub(crate) fn new(folder: PathBuf, target: &str, masker: Arc<Masker>) -> Self {
        Self { folder, echo: target == "stdout", masker }
    }

    /// A sink for the lines of one child that works on this file.
    pub(crate) fn sink(&self, bundle: &str, relative: &str, now: Timestamp) -> Arc<dyn Sink> {
        let date = now.to_zoned(TimeZone::UTC).date();
        let path = self.folder.join(date.to_string()).join(bundle).join(format!("{relative}.log"));
        let name = format!("{bundle}/{relative}");
        Arc::new(ChildLog { path, name, logs: self.clone(), written: Mutex::new(Written::default()) })
    }

    /// Makes `latest` point to the folder of the day. One that people made themselves is left alone.
    pub(crate) fn link_latest(&self, now: Timestamp) -> io::Result<()> {
        let date: Date = now.to_zoned(TimeZone::UTC).date();
        let (folder, latest) = (self.folder.join(date.to_string()), self.folder.join("latest"));
        fs_err::create_dir_all(&folder)?;
        if latest.is_symlink() {
            if fs_err::read_link(&latest)? == Path::new(&date.to_string()) {
                return Ok(());
            }
            fs_err::remove_file(&latest)?;
        } else if latest.exists() {
            return Ok(());
        }
        fs_err::os::unix::fs::symlink(date.to_string(), latest)
    }
}

/// The lines of one child.
struct ChildLog {
    path: PathBuf,
    name: String,
    logs: ChildLogs,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    /// Opened with the first line: most children say nothing.
    file: Option<File>,
    /// Whole lines, not written yet.
    lines: String,
    bytes: usize,
    given_up: bool,
}

impl Sink for ChildLog {
    fn line(&self, stream: Stream, line: &str) {
        let line = self.logs.masker.redact(line);
        if self.logs.echo {
            tracing::info!(file = %self.name, "{line}");
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.given_up {
            return;
        }
        written.add(&record(stream, &line, clock::now()));
        if written.lines.len() >= TOGETHER {
            self.write(&mut written);
        }
    }

    fn cut(&self, line: &str) -> usize {
        self.logs.masker.uncut(line)
    }
}

impl ChildLog {
    fn write(&self, written: &mut Written) {
        if let Err(error) = written.write(&self.path) {
            written.given_up = true;
            written.lines.clear();
            tracing::warn!(path = %self.path.display(), %error, "the log of a DAG file cannot be written");
        }
    }
}

/// The child has ended, and all that it said is here.
impl Drop for ChildLog {
    fn drop(&mut self) {
        let mut written = std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner));
        self.write(&mut written);
    }
}

impl Written {
    fn add(&mut self, record: &str) {
        self.bytes += record.len();
        if self.bytes > MAX_PER_CHILD {
            self.given_up = true;
            let note = format!("More than {} MiB: the rest is dropped", MAX_PER_CHILD >> 20);
            self.lines.push_str(&self::record(Stream::Stderr, &note, clock::now()));
        } else {
            self.lines.push_str(record);
        }
        self.lines.push('\n');
    }

    fn write(&mut self, path: &Path) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(path)?),
        };
        // In one piece: lines of two children never mix.
        file.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}

/// A line as Airflow writes it: JSON, with what the child logged as it is.
fn record(stream: Stream, line: &str, now: Timestamp) -> String {
    let (level, logger) = match stream {
        Stream::Log if line.starts_with('{') => return line.to_owned(),
        Stream::Stdout => ("info", "processor.stdout"),
        Stream::Stderr | Stream::Log => ("error", "processor.stderr"),
    };
    let event = Value::from(line);
    format!(r#"{{"timestamp":"{now}","level":"{level}","event":{event},"logger":"{logger}"}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroflow_execution::MaskRules;

    #[test]
    fn lines_are_json_and_what_was_logged_stays_as_it_is() {
        let now = Timestamp::from_second(0).unwrap();
        assert_eq!(record(Stream::Log, r#"{"event":"x"}"#, now), r#"{"event":"x"}"#);
        assert_eq!(
            record(Stream::Stdout, "a \"quote\"", now),
            r#"{"timestamp":"1970-01-01T00:00:00Z","level":"info","event":"a \"quote\"","logger":"processor.stdout"}"#
        );
    }

    #[test]
    fn each_file_has_a_log_per_day_and_latest_points_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let logs =
            ChildLogs::new(folder.path().to_owned(), "file", Arc::new(Masker::new(MaskRules::default())));
        let now = Timestamp::from_second(86_400).unwrap();
        let sink = logs.sink("dags", "sub/a.py", now);
        sink.line(Stream::Stdout, "one");
        sink.line(Stream::Stderr, "two");
        drop(sink);
        let text = std::fs::read_to_string(folder.path().join("1970-01-02/dags/sub/a.py.log")).unwrap();
        assert_eq!(text.lines().count(), 2);
        for second in [86_400, 86_400, 172_800] {
            logs.link_latest(Timestamp::from_second(second).unwrap()).unwrap();
        }
        let target = std::fs::read_link(folder.path().join("latest")).unwrap();
        assert_eq!(target, Path::new("1970-01-03"));
    }
}
