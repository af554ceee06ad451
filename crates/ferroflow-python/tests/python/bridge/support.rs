//! A fork server in an Airflow home of its own, and a folder of DAG files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ferroflow_python::message::map;
use ferroflow_python::{
    Answer, Answers, Failure, ForkServer, ForkServerOptions, ParseLimits, ParseOutcome, ParseReport,
    ParseRequest, ParsedFile, Sink, Stream, parse,
};
use ferroflow_testkit::given;
use rmpv::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// A fork server, with what it needs.
pub(crate) struct Bridge {
    pub(crate) server: ForkServer,
    pub(crate) folder: TempDir,
    /// The Airflow home of the fork server.
    pub(crate) home: PathBuf,
    /// In the environment of everything that it starts.
    pub(crate) mark: String,
    pub(crate) limits: ParseLimits,
    pub(crate) lines: Arc<Lines>,
    pub(crate) answers: Variables,
    /// Who shares a fork server takes turns: what is left of a child is counted.
    _turn: Option<MutexGuard<'static, ()>>,
}

/// A fork server that tests share, for it takes seconds to load Airflow. It ends with this process.
struct SharedServer {
    server: ForkServer,
    home: PathBuf,
    mark: String,
}

/// The lines that children printed.
#[derive(Default)]
pub(crate) struct Lines(pub(crate) std::sync::Mutex<Vec<(Stream, String)>>);

impl Sink for Lines {
    fn line(&self, stream: Stream, line: &str) {
        self.0.lock().unwrap().push((stream, line.to_owned()));
    }
}

/// Knows one variable, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Variables(pub(crate) std::sync::Mutex<Vec<String>>);

impl Answers for Variables {
    async fn answer(&self, kind: &str, body: Value) -> Answer {
        let key = ferroflow_python::message::get(&body, "key").and_then(Value::as_str).unwrap_or_default();
        self.0.lock().unwrap().push(format!("{kind} {key}"));
        match (kind, key) {
            ("GetVariable", "known") => Answer::Body(map([
                ("key", key.into()),
                ("value", "forty-two".into()),
                ("type", "VariableResult".into()),
            ])),
            ("GetVariable", _) => Answer::Body(map([
                ("error", "VARIABLE_NOT_FOUND".into()),
                ("detail", Value::Nil),
                ("type", "ErrorResponse".into()),
            ])),
            ("MaskSecret", _) => Answer::Done,
            _ => Answer::unknown(),
        }
    }
}

pub(crate) fn python() -> PathBuf {
    Path::new(&given("VENV")).join("bin/python")
}

pub(crate) fn options(folder: &Path, mark: &str) -> ForkServerOptions {
    let mut options = ForkServerOptions::new(python());
    options.inherit_environment = false;
    options.boot_timeout = Duration::from_mins(5);
    let set = |name: &str, value: &str| (name.into(), value.into());
    options.environment = vec![
        set("PATH", "/usr/bin:/bin"),
        set("AIRFLOW_HOME", folder.join("home").to_str().unwrap()),
        set("AIRFLOW__CORE__LOAD_EXAMPLES", "False"),
        // Python tells the bytecode of two texts apart by their length and second.
        set("PYTHONDONTWRITEBYTECODE", "1"),
        set("BRIDGE_TEST", mark),
    ];
    options
}

impl Bridge {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut ForkServerOptions)) -> Self {
        let folder = TempDir::new().unwrap();
        let mark = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut options = options(folder.path(), &mark);
        change(&mut options);
        let server = ForkServer::start(options).await.unwrap();
        let home = folder.path().join("home");
        Self::with(server, folder, home, mark, None)
    }

    /// One with the fork server that all tests share: for those that do not harm it.
    pub(crate) async fn shared() -> Self {
        static TURNS: Mutex<()> = Mutex::const_new(());
        static SHARED: OnceCell<SharedServer> = OnceCell::const_new();
        let turn = TURNS.lock().await;
        let SharedServer { server, home, mark } = SHARED.get_or_init(SharedServer::start).await;
        Self::with(server.clone(), TempDir::new().unwrap(), home.clone(), mark.clone(), Some(turn))
    }

    fn with(
        server: ForkServer,
        folder: TempDir,
        home: PathBuf,
        mark: String,
        turn: Option<MutexGuard<'static, ()>>,
    ) -> Self {
        let limits =
            ParseLimits { timeout: Duration::from_mins(2), grace: Duration::from_secs(2), memory: None };
        let (lines, answers) = (Arc::default(), Variables::default());
        Self { server, folder, home, mark, limits, lines, answers, _turn: turn }
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn request(&self, name: &str, text: impl AsRef<[u8]>) -> ParseRequest {
        ParseRequest {
            file: self.file(name, text),
            bundle_path: self.folder.path().to_owned(),
            bundle_name: "tests".to_owned(),
            callbacks: Vec::new(),
        }
    }

    /// Parses a file of this text. Nothing is left of the child.
    pub(crate) async fn report(&self, text: impl AsRef<[u8]>) -> ParseReport {
        let request = self.request("dag_file.py", text);
        let report = self.parse(&request).await;
        assert_eq!(self.processes().len(), 1, "only the fork server is left");
        report
    }

    pub(crate) async fn parse(&self, request: &ParseRequest) -> ParseReport {
        let sink: Arc<dyn Sink> = Arc::clone(&self.lines) as Arc<dyn Sink>;
        parse(&self.server, request, &self.limits, &self.answers, &sink).await.unwrap()
    }

    pub(crate) async fn parsed(&self, text: impl AsRef<[u8]>) -> ParsedFile {
        match self.report(text).await.outcome {
            ParseOutcome::Parsed(parsed) => parsed,
            other => panic!("it was not parsed: {other:?}"),
        }
    }

    pub(crate) async fn import_error(&self, text: impl AsRef<[u8]>) -> String {
        let parsed = self.parsed(text).await;
        assert_eq!(parsed.dags, []);
        let [error] = &parsed.import_errors[..] else { panic!("one error: {parsed:?}") };
        assert_eq!(error.filename, "dag_file.py");
        error.stacktrace.clone()
    }

    pub(crate) async fn failure(&self, text: impl AsRef<[u8]>) -> Failure {
        match self.report(text).await.outcome {
            ParseOutcome::Failed(failure) => failure,
            other => panic!("it did not fail: {other:?}"),
        }
    }

    /// The numbers of the processes that this bridge has started and that live.
    pub(crate) fn processes(&self) -> Vec<i32> {
        processes(&self.mark)
    }
}

impl SharedServer {
    async fn start() -> Self {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bridge");
        std::fs::create_dir_all(&folder).unwrap();
        let mark = format!("shared-{}", std::process::id());
        // What talks with the fork server outlives the test that comes first.
        let runtime = RUNTIME.get_or_init(|| Runtime::new().unwrap());
        let server = runtime.spawn(ForkServer::start(options(&folder, &mark))).await.unwrap().unwrap();
        Self { server, home: folder.join("home"), mark }
    }
}

pub(crate) fn processes(mark: &str) -> Vec<i32> {
    let entry = format!("BRIDGE_TEST={mark}");
    let numbers = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse().ok()
    });
    numbers
        .filter(|pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
        })
        .collect()
}

/// Waits for something to come true.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1200 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never came true: {what}");
}
