//! A machine on which nothing was ever run.

use std::path::{Path, PathBuf};
use std::process::Command;

use ferroflow_db::{Db, Options, testing};
use ferroflow_testkit::dag_processing::{Running, wait_until};
use ferroflow_testkit::{Program, given};
use tempfile::TempDir;

pub(crate) const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");

/// A folder below which everything is made; it is gone when this is dropped.
pub(crate) struct Home {
    root: TempDir,
    settings: Vec<(String, String)>,
}

impl Home {
    /// With nothing in it. Only the interpreter is named: to make one takes minutes.
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        let airflow_home = root.path().join("home/airflow").display().to_string();
        let python = Path::new(&given("VENV")).join("bin/python").display().to_string();
        Self { root, settings: Vec::new() }
            .with("AIRFLOW_HOME", &airflow_home)
            .with("AIRFLOW__FERROFLOW__PYTHON", &python)
    }

    /// The same with the files of somebody who wants no examples.
    pub(crate) fn with_dags(dags: &str) -> Self {
        let home = Self::new();
        let folder = home.path("dags");
        std::fs::create_dir(&folder).unwrap();
        home.write("dags.py", dags);
        home.with("AIRFLOW__CORE__DAGS_FOLDER", folder.to_str().unwrap())
            .with("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
            .with("AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION", "False")
    }

    pub(crate) fn with(mut self, variable: &str, value: &str) -> Self {
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// A path in its folder.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Airflow's home.
    pub(crate) fn airflow(&self) -> PathBuf {
        self.path("home/airflow")
    }

    /// Writes a DAG file. `NOTES` is where its tasks write what they do.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let notes = format!("'{}'", self.path("notes").display());
        std::fs::write(self.path("dags").join(name), text.replace("NOTES", &notes)).unwrap();
    }

    /// The lines that tasks have written.
    pub(crate) fn notes(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(self.path("notes")).unwrap_or_default();
        notes.lines().map(str::to_owned).collect()
    }

    pub(crate) fn start(&self) -> Running {
        Running::start(self.command(Path::new(FERROFLOW), &["standalone"]), self.root.path())
    }

    /// The same on a terminal. It ends as soon as it has something to end with: Ctrl-C is typed when `until` is shown.
    pub(crate) fn start_on_terminal(&self, until: &str) -> Running {
        let script = ferroflow_testkit::repository("crates/ferroflow/tests/program/standalone/terminal.py");
        let python = Path::new(&given("VENV")).join("bin/python");
        let arguments = [script.to_str().unwrap(), until, FERROFLOW, "standalone"];
        Running::start(self.command(&python, &arguments), self.root.path())
    }

    /// The embedded database.
    pub(crate) async fn db(&self) -> Db {
        let url = format!("sqlite:///{}", self.airflow().join("airflow.db").display());
        Db::connect(&Options::new(url)).await.unwrap()
    }

    /// The answers to a question to the embedded database.
    pub(crate) async fn ask(&self, question: &str) -> Vec<String> {
        let db = self.db().await;
        let answers = testing::texts(&db, question).await.unwrap();
        db.close().await;
        answers
    }

    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Program::new(program).command(arguments);
        command.env("HOME", self.path("home"));
        command.envs(self.settings.iter().map(|(key, value)| (key, value)));
        command
    }
}

/// Waits until a line has been printed that contains all of these.
pub(crate) fn wait_for_line(running: &Running, words: &[&str]) {
    let is_told =
        wait_until(150, || running.log().lines().any(|line| words.iter().all(|word| line.contains(word))));
    assert!(is_told, "{words:?} is not told\n{}", running.log());
}

/// Asks it to end, and waits until it has, in order.
pub(crate) fn end(mut running: Running) -> String {
    running.interrupt();
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    let nobody_left = wait_until(20, || running.descendants().is_empty());
    assert!(nobody_left, "processes are left: {:?}", running.descendants());
    running.log()
}
