//! The log of a task: one JSON object per line, where Airflow's log readers look for it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ferroflow_config::Settings;
use ferroflow_execution::Masker;
use ferroflow_python::{Error, Sink, Stream};
use ferroflow_telemetry::clock;
use jiff::Timestamp;
use regex::Regex;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::WorkloadInstance;

/// Where logs of tasks go, and how.
#[derive(Clone)]
pub struct TaskLogs {
    /// `[logging] base_log_folder`.
    pub folder: PathBuf,
    /// `[logging] file_task_handler_new_folder_permissions`.
    pub folder_mode: u32,
    /// `[logging] file_task_handler_new_file_permissions`.
    pub file_mode: u32,
    /// Who else is given each record, for a terminal.
    pub echo: Option<Arc<dyn Echo>>,
}

/// Somebody who reads along.
pub trait Echo: Send + Sync {
    /// A record of the log of a task instance, masked.
    fn record(&self, instance: &WorkloadInstance, record: &Map<String, Value>);
}

impl TaskLogs {
    /// As the configuration says.
    pub fn of(settings: &Settings) -> Self {
        let logging = &settings.logging;
        Self {
            folder: logging.base_log_folder.clone(),
            folder_mode: logging.file_task_handler_new_folder_permissions,
            file_mode: logging.file_task_handler_new_file_permissions,
            echo: None,
        }
    }

    /// The log of a task instance, or of what runs for none, which goes on with what may be there. [`TaskLog::open`] opens
    /// it.
    pub(crate) fn log_of(
        &self,
        path: Option<&str>,
        instance: Option<&WorkloadInstance>,
        masker: Arc<Masker>,
    ) -> Arc<TaskLog> {
        let path = path.map(|path| self.folder.join(path));
        Arc::new(TaskLog {
            masker,
            echo: self.echo.clone(),
            instance: instance.cloned(),
            on_kill_returned: Notify::new(),
            written: Mutex::new(Written { file: None, lost: 0, is_torn: false }),
            logs: self.clone(),
            path,
        })
    }
}

/// The log of one task instance.
pub(crate) struct TaskLog {
    logs: TaskLogs,
    path: Option<PathBuf>,
    masker: Arc<Masker>,
    echo: Option<Arc<dyn Echo>>,
    instance: Option<WorkloadInstance>,
    /// The child has been told to end, and has done what its operator does then.
    pub(crate) on_kill_returned: Notify,
    written: Mutex<Written>,
}

struct Written {
    file: Option<File>,
    /// Lines that could not be written.
    lost: u64,
    /// Whether the last line is there in part.
    is_torn: bool,
}

impl Sink for TaskLog {
    fn line(&self, stream: Stream, line: &str) {
        let record = match stream {
            Stream::Stdout => plain(line, "info", "task.stdout"),
            Stream::Stderr => plain(line, "error", "task.stderr"),
            Stream::Log => match serde_json::from_str(line) {
                Ok(Value::Object(record)) if is_on_kill_returned(&record) => {
                    // Only whoever waits for it: a signal that the task sent itself means nothing.
                    self.on_kill_returned.notify_waiters();
                    return;
                }
                Ok(Value::Object(record)) => in_order(record),
                Ok(_) | Err(_) => plain(line, "info", "task"),
            },
        };
        self.write(record);
    }

    /// Before what may be a secret, or a token, that goes on.
    fn cut(&self, line: &str) -> usize {
        let end = self.masker.uncut(line);
        let token = JWT.find_iter(line).last().filter(|token| token.end() == line.len());
        token.map_or(end, |token| end.min(token.start()))
    }
}

impl TaskLog {
    /// A line of the supervisor's own.
    pub(crate) fn say(&self, level: &str, event: &str, details: &[(&str, Value)]) {
        let mut record = plain(event, level, "task");
        record.extend(details.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.write(record);
    }

    /// Opens the file, unless it is open, so that it is there while the task runs, whether or not it logs anything. Fails if
    /// the system is out of what that takes, for which the task can wait. Without one for another reason the task runs all
    /// the same, our own log says why, and each line tries anew.
    pub(crate) fn open(&self) -> Result<(), Error> {
        let Some(path) = &self.path else { return Ok(()) };
        let Err(error) = self.lock().open(path, &self.logs).map(drop) else { return Ok(()) };
        let reason = error.to_string();
        if Error::Io(error).is_for_now() {
            return Err(Error::Exhausted(format!("its log cannot be opened: {reason}")));
        }
        let path = path.display();
        tracing::error!(%path, "the log of a task cannot be opened ({reason}); it runs all the same");
        Ok(())
    }

    fn write(&self, mut record: Map<String, Value>) {
        for value in record.values_mut() {
            if let Value::String(text) = value
                && text.contains("eyJ")
            {
                *text = JWT.replace_all(text, "eyJ***").into_owned();
            }
        }
        let mut record = Value::Object(record);
        self.masker.redact_json(&mut record);
        if let (Some(echo), Some(instance), Some(record)) = (&self.echo, &self.instance, record.as_object()) {
            echo.record(instance, record);
        }
        let mut line = record.to_string();
        line.push('\n');
        if let Some(path) = &self.path {
            self.lock().append(&line, path, &self.logs);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    fn open(&mut self, path: &Path, logs: &TaskLogs) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(create(path, logs)?)),
        }
    }

    /// Adds a line, in one piece. What could not be written is counted, and told as soon as there is room again.
    fn append(&mut self, line: &str, path: &Path, logs: &TaskLogs) {
        let mut text = String::new();
        if self.is_torn {
            text.push('\n');
        }
        if self.lost > 0 {
            let note = format!(
                "{} lines could not be written before this one: the disk was full, or the file could not be opened?",
                self.lost
            );
            text.push_str(&Value::Object(plain(&note, "error", "task")).to_string());
            text.push('\n');
        }
        text.push_str(line);
        match self.write(&text, path, logs) {
            Ok(()) => self.lost = 0,
            Err(error) => {
                // That it cannot be opened is said by whoever did that first.
                if self.lost == 0 && self.file.is_some() {
                    let path = path.display();
                    tracing::error!(%path, "the log of a task cannot be written: {error}; the task goes on");
                }
                self.lost += 1;
            }
        }
    }

    fn write(&mut self, text: &str, path: &Path, logs: &TaskLogs) -> io::Result<()> {
        let file = self.open(path, logs)?;
        let before = file.metadata().map_or(0, |file| file.len());
        let written = file.write_all(text.as_bytes());
        // A part of it may be there. It is taken back if that is possible.
        self.is_torn = written.is_err() && file.set_len(before).is_err();
        written
    }
}

/// `eyJ` is how every token of the Execution API begins.
static JWT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"eyJ[.A-Za-z0-9_-]*").unwrap_or_else(|error| unreachable!("{error}")));

fn create(path: &Path, logs: &TaskLogs) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(logs.folder_mode).create(folder)?;
    }
    OpenOptions::new().create(true).append(true).mode(logs.file_mode).open(path)
}

fn plain(line: &str, level: &str, logger: &str) -> Map<String, Value> {
    let entries = [
        ("timestamp", timestamp(clock::now())),
        ("level", level.to_owned()),
        ("event", line.trim_end().to_owned()),
        ("logger", logger.to_owned()),
    ];
    entries.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// What `task.py` writes: this and nothing else.
fn is_on_kill_returned(record: &Map<String, Value>) -> bool {
    record.len() == 1 && record.get("ferroflow").and_then(Value::as_str) == Some("on_kill has returned")
}

/// A record of the child as it is read by people and by Airflow: what matters first, and exceptions under the name
/// that readers know.
fn in_order(mut record: Map<String, Value>) -> Map<String, Value> {
    let mut ordered = Map::with_capacity(record.len() + 1);
    for name in ["timestamp", "level", "event"] {
        let value = record.shift_remove(name).unwrap_or_else(|| match name {
            "timestamp" => timestamp(clock::now()).into(),
            "level" => "info".into(),
            _ => "".into(),
        });
        ordered.insert(name.to_owned(), value);
    }
    for (name, value) in record {
        let name = if name == "exception" { "error_detail".to_owned() } else { name };
        ordered.insert(name, value);
    }
    ordered
}

fn timestamp(now: Timestamp) -> String {
    format!("{now:.6}")
}

#[cfg(test)]
mod tests {
    use ferroflow_execution::MaskRules;
    use serde_json::json;

    use super::*;

    fn instance() -> WorkloadInstance {
        serde_json::from_value(json!({
            "id": "0193b1a0-0000-7000-8000-000000000001", "task_id": "t", "dag_id": "d", "run_id": "r",
            "try_number": 1, "dag_version_id": null, "map_index": -1, "hostname": null, "context_carrier": null,
            "queue": "default", "pool_slots": 1, "priority_weight": 1,
        }))
        .unwrap()
    }

    fn logs(folder: &Path) -> TaskLogs {
        TaskLogs { folder: folder.to_owned(), folder_mode: 0o775, file_mode: 0o664, echo: None }
    }

    fn lines(folder: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join("a/b.log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lines_are_records_in_airflows_order_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let masker = Arc::new(Masker::new(MaskRules::default()));
        masker.add(&"s3cret\"quoted".into(), None);
        let log = logs(folder.path()).log_of(Some("a/b.log"), Some(&instance()), masker);
        log.line(Stream::Stdout, "hello s3cret\"quoted  ");
        log.line(Stream::Stderr, "oh eyJhbGciOi.J9.x_y-z!");
        let record = json!({"event": "e", "logger": "x", "exception": [{"exc_type": "E"}], "password": "p",
            "level": "warning", "timestamp": "2026-01-01T00:00:00.000001Z"});
        log.line(Stream::Log, &record.to_string());
        log.line(Stream::Log, "no record");
        let found = lines(folder.path());
        assert_eq!(found[0]["event"], "hello ***");
        assert_eq!((&found[0]["level"], &found[0]["logger"]), (&json!("info"), &json!("task.stdout")));
        assert_eq!(found[1]["event"], "oh eyJ***!");
        let keys: Vec<_> = found[2].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["timestamp", "level", "event", "logger", "error_detail", "password"]);
        assert_eq!(found[2]["password"], "***");
        assert_eq!(found[3]["event"], "no record");
    }

    #[test]
    fn a_line_is_not_cut_where_something_secret_may_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let masker = Arc::new(Masker::new(MaskRules::default()));
        let log = logs(folder.path()).log_of(Some("a/b.log"), Some(&instance()), Arc::clone(&masker));
        assert_eq!(log.cut("nothing is known"), 16);
        assert_eq!(log.cut("a token: eyJhbGciOi.J9"), 9);
        assert_eq!(log.cut("a token: eyJhbGciOi.J9, and more"), 32);
        masker.add(&"s3cret-of-mine".into(), None);
        let cut = log.cut("a long line that ends with s3cret-of");
        assert!((10..=27).contains(&cut), "{cut}");
    }

    #[test]
    fn a_log_that_cannot_be_opened_yet_is_opened_when_it_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("a");
        std::fs::write(&in_the_way, "").unwrap();
        let masker = Arc::new(Masker::new(MaskRules::default()));
        let log = logs(folder.path()).log_of(Some("a/b.log"), Some(&instance()), masker);
        log.open().unwrap();
        log.say("info", "lost", &[]);
        std::fs::remove_file(in_the_way).unwrap();
        log.say("info", "written", &[]);
        let found = lines(folder.path());
        assert_eq!(found.len(), 2);
        assert!(found[0]["event"].as_str().unwrap().starts_with("1 lines could not be written"));
        assert_eq!(found[1]["event"], "written");
    }

    #[test]
    fn a_second_try_to_open_goes_on_with_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let masker = Arc::new(Masker::new(MaskRules::default()));
            logs(folder.path()).log_of(Some("a/b.log"), Some(&instance()), masker).say("info", "again", &[]);
        }
        assert_eq!(lines(folder.path()).len(), 2);
    }
}
