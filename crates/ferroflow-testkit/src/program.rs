//! A program run as a user would, in an Airflow home of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A program with a fresh `AIRFLOW_HOME`, which is gone when this is dropped.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    home: TempDir,
    settings: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

impl Program {
    /// A program, with nothing configured.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            home: TempDir::new().expect("a temporary folder is made"),
            settings: Vec::new(),
        }
    }

    /// With one more environment variable.
    #[must_use]
    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.settings.push((variable.to_owned(), value.to_owned()));
        self
    }

    /// With its metadata database at this URL.
    #[must_use]
    pub fn on(self, url: &str) -> Self {
        self.with("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", url)
    }

    /// Its home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The command, for what `run` cannot do. It inherits nothing but the search path.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.home.path())
            .env("AIRFLOW_HOME", self.home.path())
            .envs(self.settings.iter().map(|(key, value)| (key, value)));
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        finish(&mut self.command(arguments), "")
    }

    /// Runs it to its end, with text on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Finished {
        finish(&mut self.command(arguments), input)
    }
}

impl Finished {
    /// Whether it succeeded.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// What it printed, if it succeeded.
    pub fn expect_success(self) -> String {
        assert!(self.success(), "it failed ({:?})\n{}\n{}", self.code, self.stdout, self.stderr);
        self.stdout
    }
}

/// Runs a command to its end.
pub fn finish(command: &mut Command, input: &str) -> Finished {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start(command)
        .unwrap_or_else(|error| panic!("{} is started: {error}", command.get_program().display()));
    let mut stdin = child.stdin.take().expect("it was piped");
    let text = input.to_owned();
    // From another thread: one that answers before it has read all would block both.
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    drop(writer.join());
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[expect(clippy::disallowed_methods, reason = "a program under test finds /bin/sh and the like where we do")]
fn search_path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// A program that a test has just copied is busy for a moment: another test may have forked while it was written.
fn start(command: &mut Command) -> std::io::Result<Child> {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
    for _ in 0..100 {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
    command.spawn()
}
