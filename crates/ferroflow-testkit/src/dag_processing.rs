//! A folder of DAG files, a database, and DAG processors at work on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::Program;
use crate::warm_python::Dialogue;
use crate::{Server, TestDb, given, repository};

/// A bundle called `main`, an Airflow home and a database, which are gone when this is dropped.
#[derive(Debug)]
pub struct Place {
    root: TempDir,
    db: TestDb,
    settings: Vec<(String, String)>,
}

/// A program that runs. It is killed when this is dropped, with all that it has started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    log: PathBuf,
    folder: PathBuf,
}

/// Official code that answers questions about the database: see `testdata/dag_processing/observe.py`.
#[derive(Debug)]
pub struct Observer(Dialogue);

impl Place {
    /// One with an empty bundle. Nothing is throttled, and what is gone is stale soon.
    pub async fn on(server: Server) -> Self {
        let root = TempDir::new().expect("a temporary folder is made");
        for folder in ["main", "home"] {
            fs::create_dir(root.path().join(folder)).expect("a folder is made");
        }
        let db = TestDb::migrated(server).await;
        let bundle = json!([{
            "name": "main",
            "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
            "kwargs": {"path": root.path().join("main")},
        }]);
        let settings = [
            ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", db.url()),
            ("AIRFLOW__CORE__DAGS_FOLDER", root.path().join("main").display().to_string()),
            ("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", bundle.to_string()),
            ("AIRFLOW__CORE__LOAD_EXAMPLES", "False".to_owned()),
            ("AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL", "0".to_owned()),
            ("AIRFLOW__CORE__FERNET_KEY", "QmFzZTY0X29mXzMyX2J5dGVzX2Zvcl90ZXN0c18xMjM=".to_owned()),
            ("AIRFLOW_HOME", root.path().join("home").display().to_string()),
            // Official Airflow's own tools are found where Airflow is.
            ("PATH", search_path()),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value)).to_vec();
        Self { root, db, settings }
    }

    /// With one more setting, as an environment variable.
    #[must_use]
    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// Its folder, which holds the bundle `main` and the home.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The database.
    pub fn db(&self) -> &TestDb {
        &self.db
    }

    /// A path in the bundle.
    pub fn file(&self, path: &str) -> PathBuf {
        self.root.path().join("main").join(path)
    }

    /// Writes a file of the bundle.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let file = self.file(path);
        fs::create_dir_all(file.parent().expect("it is in the bundle")).expect("a folder is made");
        fs::write(file, text).expect("a file is written");
    }

    /// Writes a file with one DAG of one task.
    pub fn write_dag(&self, dag_id: &str) {
        self.write(&format!("{dag_id}.py"), simple_dag(dag_id));
    }

    /// Starts a program.
    pub fn start(&self, program: impl Into<PathBuf>, arguments: &[&str]) -> Running {
        Running::start(self.command(&program.into(), arguments), self.root.path())
    }

    /// Starts a program of the official Airflow.
    pub fn start_airflow(&self, arguments: &[&str]) -> Running {
        self.start(in_venv("airflow"), arguments)
    }

    /// Runs a DAG processor over every file once.
    pub fn process_once(&self, program: impl Into<PathBuf>) {
        let mut running = self.start(program, &["dag-processor", "--num-runs", "1"]);
        let code = running.wait_for_end(240);
        assert_eq!(code, Some(0), "the processor failed\n{}", running.log());
    }

    /// Asks official code.
    pub fn observe(&self) -> Observer {
        let script = repository("testdata/dag_processing/observe.py");
        let mut command = self.command(&in_venv("python"), &[]);
        Observer(Dialogue::with(command.arg(script).arg(self.root.path())))
    }

    /// The processes that were started here, and all that those have started, whoever their parent is now.
    pub fn processes(&self) -> Vec<u32> {
        at_work_in(self.root.path())
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Program::new(program).command(arguments);
        command.envs(self.settings.iter().map(|(key, value)| (key, value)));
        command.env("HOME", self.root.path());
        command
    }
}

impl Running {
    /// Starts a command in a folder of its own below `root`, where its log is too.
    pub fn start(mut command: Command, root: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let log = root.join(format!("{number}.log"));
        let folder = root.join(format!("{number}"));
        fs::create_dir(&folder).expect("a folder is made");
        let output = fs::File::create(&log).expect("a log is made");
        let errors = output.try_clone().expect("a log has two ends");
        let command = command.current_dir(&folder).stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} is started: {error}"));
        Self { child, log, folder }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed.
    pub fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Asks it to end, as Ctrl-C does.
    pub fn interrupt(&self) {
        signal("INT", self.id());
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        signal("TERM", self.id());
    }

    /// Ends the process itself, at once, and none that it has started.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Its exit code; `None` if a signal ended it.
    pub fn wait_for_end(&mut self, seconds: u32) -> Option<i32> {
        let mut code = None;
        let ended = wait_until(seconds, || {
            code = self.child.try_wait().expect("it can be asked");
            code.is_some()
        });
        assert!(ended, "it does not end\n{}", self.log());
        code.expect("it has ended").code()
    }

    /// The processes that it has started, and all that those have started, whoever their parent is now.
    pub fn descendants(&self) -> Vec<u32> {
        at_work_in(&self.folder).into_iter().filter(|process| *process != self.id()).collect()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_some()
    }

    /// The memory of the process itself that is in use, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a process has a size");
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("it is a number")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        // What it has started may start more.
        for _ in 0..5 {
            for process in at_work_in(&self.folder) {
                signal("KILL", process);
            }
        }
        drop(self.child.wait());
    }
}

impl Observer {
    /// The answer to a question.
    pub fn ask(&mut self, question: &Value) -> Value {
        let answer = self.0.ask(&question.to_string());
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no answer to {question}"))
    }

    /// The ids of DAGs that are stored and not stale.
    pub fn serialized(&mut self) -> Vec<String> {
        let answer = self.ask(&json!(["serialized"]));
        let mut ids: Vec<String> = serde_json::from_value(answer).expect("ids are texts");
        ids.sort();
        ids
    }

    /// Import errors by file.
    pub fn import_errors(&mut self) -> serde_json::Map<String, Value> {
        serde_json::from_value(self.ask(&json!(["import_errors"]))).expect("there is one per file")
    }

    /// All rows that a DAG processor writes, without what differs from run to run.
    pub fn rows(&mut self) -> Value {
        self.ask(&json!(["normalised"]))
    }
}

/// A file with one DAG of one task.
pub fn simple_dag(dag_id: &str) -> String {
    format!(
        "from datetime import datetime\n\
         from airflow.providers.standard.operators.empty import EmptyOperator\n\
         from airflow.sdk import DAG\n\n\
         with DAG({dag_id:?}, schedule='@daily', start_date=datetime(2024, 1, 1), catchup=True):\n    \
         EmptyOperator(task_id='only')\n"
    )
}

/// Whether something became true within so many seconds. It is asked ten times in each.
pub fn wait_until(seconds: u32, mut fact: impl FnMut() -> bool) -> bool {
    for _ in 0..seconds * 10 {
        if fact() {
            return true;
        }
        sleep(Duration::from_millis(100));
    }
    fact()
}

/// A program of the official Airflow's virtualenv.
pub fn in_venv(name: &str) -> PathBuf {
    Path::new(&given("VENV")).join("bin").join(name)
}

fn search_path() -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", Path::new(&given("VENV")).join("bin").display())
}

/// Processes that live and whose working folder is there: a process has that of the one that has started it. Its
/// environment would not do, since a Python process that gives itself a title writes over it.
fn at_work_in(folder: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("this is Linux");
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|process| {
            fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|place| place.starts_with(folder))
        })
        .collect()
}

fn signal(name: &str, process: u32) {
    drop(Command::new("/bin/kill").arg(format!("-{name}")).arg(process.to_string()).output());
}
