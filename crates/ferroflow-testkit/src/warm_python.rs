//! Scripts are run by a Python that `./test` keeps warm, in a process of their own: see `testing/warm_python.py`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::given;
use crate::program::Finished;

/// Runs a command to its end whose program is the virtualenv's Python, or a script of its, and whose environment is its
/// own alone.
pub fn finish_warm(command: &Command, input: &str) -> Finished {
    let folder = TempDir::new().expect("a temporary folder is made");
    let file = |name: &str| folder.path().join(name);
    for (name, text) in [("input", input), ("output", ""), ("errors", "")] {
        std::fs::write(file(name), text).expect("a file is written");
    }
    let here = std::env::current_dir().expect("there is a current folder");
    let request = json!({
        "argv": words(command),
        "environment": environment(command),
        "folder": command.get_current_dir().unwrap_or(&here),
        "input": file("input"),
        "output": file("output"),
        "errors": file("errors"),
    });
    let status = status_of(&request.to_string());
    let read = |name| {
        let bytes = std::fs::read(file(name)).expect("what was printed is read");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Finished { code: (status >= 0).then_some(status), stdout: read("output"), stderr: read("errors") }
}

/// Waits for the end of a script. It is killed if the connection is closed before.
fn status_of(request: &str) -> i32 {
    let mut server = UnixStream::connect(given("WARM_PYTHON")).expect("the warm Python listens");
    writeln!(server, "{request}").expect("the warm Python is told");
    let mut answer = String::new();
    BufReader::new(server).read_line(&mut answer).expect("the warm Python answers");
    answer.trim().parse().unwrap_or_else(|_| panic!("the warm Python gave up: {answer:?}"))
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
