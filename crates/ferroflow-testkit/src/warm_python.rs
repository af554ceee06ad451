//! Scripts are run by a Python that `./test` keeps warm, in a process of their own: see `testing/warm_python.py`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::given;
use crate::program::Finished;

/// A script that answers a line with a line. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Dialogue {
    questions: File,
    answers: BufReader<File>,
    _connection: UnixStream,
    _folder: TempDir,
}

/// Runs a command to its end whose program is the virtualenv's Python, or a script of its, and whose environment is its
/// own alone.
pub fn finish_warm(command: &Command, input: &str) -> Finished {
    let folder = TempDir::new().expect("a temporary folder is made");
    for (name, text) in [("input", input), ("output", ""), ("errors", "")] {
        fs::write(folder.path().join(name), text).expect("a file is written");
    }
    let mut answer = String::new();
    BufReader::new(start(command, folder.path())).read_line(&mut answer).expect("the warm Python answers");
    let status: i32 = answer.trim().parse().unwrap_or_else(|_| panic!("the warm Python gave up: {answer:?}"));
    let read = |name| {
        let bytes = fs::read(folder.path().join(name)).expect("what was printed is read");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Finished { code: (status >= 0).then_some(status), stdout: read("output"), stderr: read("errors") }
}

impl Dialogue {
    pub(crate) fn with(command: &Command) -> Self {
        let folder = TempDir::new().expect("a temporary folder is made");
        let [input, output] = ["input", "output"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args([&input, &output]).status().expect("mkfifo is started");
        assert!(made.success(), "the pipes are made");
        let connection = start(command, folder.path());
        // The script opens them in the same order, and each waits for the other.
        let questions = File::options().write(true).open(input).expect("the script listens");
        let answers = BufReader::new(File::open(output).expect("the script speaks"));
        Self { questions, answers, _connection: connection, _folder: folder }
    }

    pub(crate) fn ask(&mut self, question: &str) -> String {
        writeln!(self.questions, "{question}").expect("it is listened to");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("it answers");
        answer
    }
}

/// Starts a script. Its exit status is told at its end; it is killed if the connection is closed before.
fn start(command: &Command, folder: &Path) -> UnixStream {
    let here = std::env::current_dir().expect("there is a current folder");
    let request = json!({
        "argv": words(command),
        "environment": environment(command),
        "folder": command.get_current_dir().unwrap_or(&here),
        "input": folder.join("input"),
        "output": folder.join("output"),
        "errors": folder.join("errors"),
    });
    let mut connection = UnixStream::connect(given("WARM_PYTHON")).expect("the warm Python listens");
    writeln!(connection, "{request}").expect("the warm Python is told");
    connection
}

fn words(command: &Command) -> Vec<&str> {
    let program = command.get_program().to_str().expect("the virtualenv's path is UTF-8");
    let arguments = command.get_args().map(|word| word.to_str().expect("arguments are UTF-8"));
    if program.ends_with("/python") {
        arguments.collect()
    } else {
        std::iter::once(program).chain(arguments).collect()
    }
}

fn environment(command: &Command) -> BTreeMap<&str, &str> {
    let pairs = command.get_envs().filter_map(|(name, value)| name.to_str().zip(value?.to_str()));
    pairs.collect()
}
