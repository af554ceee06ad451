//! The real Airflow 3.3.2, to compare with.

use std::path::{Path, PathBuf};

use crate::program::{Finished, Program};
use crate::{finish_warm, given, repository};

/// Airflow in a home of its own, which is gone when this is dropped.
#[derive(Debug)]
pub struct Airflow {
    airflow: Program,
    python: Program,
}

impl Airflow {
    /// One whose metadata database is at `url`.
    pub fn on(url: &str) -> Self {
        let program =
            |name| Program::new(executable(name)).on(url).with("AIRFLOW__CORE__LOAD_EXAMPLES", "False");
        Self { airflow: program("airflow"), python: program("python") }
    }

    /// With one more setting, as an environment variable.
    #[must_use]
    pub fn with(self, variable: &str, value: &str) -> Self {
        Self { airflow: self.airflow.with(variable, value), python: self.python.with(variable, value) }
    }

    /// Runs `airflow` with these arguments.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        finish_warm(&self.airflow.command(arguments), "")
    }

    /// Runs a Python script of the repository, with text on its standard input.
    pub fn python(&self, script: &str, arguments: &[&str], input: &str) -> Finished {
        let script = repository(script);
        let script = script.to_str().expect("the repository's path is UTF-8");
        finish_warm(&self.python.command(&[&[script], arguments].concat()), input)
    }
}

fn executable(name: &str) -> PathBuf {
    Path::new(&given("VENV")).join("bin").join(name)
}
