//! Which Python runs user code: one that has Airflow 3.3.

use std::fmt::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::program;

/// The oldest Python that Airflow 3.3 runs on.
pub(crate) const OLDEST_PYTHON: (u32, u32) = (3, 10);

/// Tells the version, where the interpreter is, and which Airflow it has, without importing it: that takes seconds.
/// The version comes first, since an interpreter that is too old may not understand the rest.
const PROBE: &str = r#"
import sys
print("%d.%d" % sys.version_info[:2], sys.executable, sep="\n", flush=True)
from importlib import metadata
try:
    print(metadata.version("apache-airflow-core"))
except metadata.PackageNotFoundError:
    print()
"#;

/// A Python with Airflow 3.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Where it is.
    pub path: PathBuf,
    /// Its version: `3.12`.
    pub python: String,
    /// The version of Airflow that it has: `3.3.2`.
    pub airflow: String,
    /// Why it is this one.
    pub origin: Origin,
}

/// Where an interpreter was found, in the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `[ferroflow] python` names it.
    Setting,
    /// `ferroflow python install` made it.
    Managed,
    /// It is that of the active virtualenv.
    VirtualEnv,
    /// It is the first `python3` on `PATH`.
    SearchPath,
}

/// Where to look for an interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// `[ferroflow] python`.
    pub setting: Option<&'a Path>,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<&'a str>,
    /// `PATH`.
    pub search_path: Option<&'a str>,
    /// Airflow's home: an interpreter of ours is in it.
    pub airflow_home: &'a Path,
}

/// No interpreter will do.
#[derive(Debug, thiserror::Error)]
#[error("no Python with Airflow 3.3 was found:{}\n{ADVICE}", list(.0))]
pub struct NoInterpreter(Vec<Rejected>);

const ADVICE: &str = "To install one beside airflow.cfg, run: ferroflow python install. \
    To use one that has Airflow, set [ferroflow] python to its path (.../bin/python).";

/// A place without an interpreter that will do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rejected {
    origin: Origin,
    path: Option<PathBuf>,
    problem: Problem,
}

/// What is wrong with a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Absent(&'static str),
    #[error("there is no such file")]
    NoFile,
    #[error("it is not a program that may be run")]
    NotExecutable,
    #[error("it does not work: {0}")]
    Broken(String),
    #[error("it is Python {0}; Airflow 3.3 needs {major}.{minor} or newer", major = OLDEST_PYTHON.0, minor = OLDEST_PYTHON.1)]
    TooOld(String),
    #[error("it has no Airflow")]
    NoAirflow,
    #[error("it has Airflow {0}, not 3.3")]
    OtherAirflow(String),
}

impl Interpreter {
    /// The first that will do. What a setting names is used or refused, never passed over.
    pub fn find(places: Places<'_>) -> Result<Self, NoInterpreter> {
        let mut rejected = Vec::new();
        for (origin, candidate) in candidates(places) {
            let path = candidate.as_ref().ok().cloned();
            let found = candidate.and_then(|path| examine(&path, origin));
            match found {
                Ok(interpreter) => return Ok(interpreter),
                Err(problem) => rejected.push(Rejected { origin, path, problem }),
            }
            if origin == Origin::Setting {
                break;
            }
        }
        Err(NoInterpreter(rejected))
    }
}

/// Where the interpreter is that `ferroflow python install` makes.
pub fn managed_python(airflow_home: &Path) -> PathBuf {
    airflow_home.join("ferroflow-python/current/bin/python")
}

/// The first program of that name on a search path.
pub(crate) fn on_search_path(search_path: &str, name: &str) -> Option<PathBuf> {
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_executable(path))
}

/// Asks an interpreter for its version and its Airflow.
pub(crate) fn probe(path: &Path) -> Result<(String, PathBuf, String), String> {
    let output = program::output(path, &["-c", PROBE]).map_err(|stopped| stopped.to_string())?;
    let mut lines = output.lines();
    match (lines.next(), lines.next()) {
        (Some(version), Some(executable)) if version.contains('.') => {
            let airflow = lines.next().unwrap_or_default();
            Ok((version.to_owned(), PathBuf::from(executable), airflow.to_owned()))
        }
        _ => Err("it does not tell its version".to_owned()),
    }
}

pub(crate) fn is_too_old(python: &str) -> bool {
    let mut numbers = python.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST_PYTHON
}

fn candidates(places: Places<'_>) -> Vec<(Origin, Result<PathBuf, Problem>)> {
    let managed = managed_python(places.airflow_home);
    let managed = if managed.exists() { Ok(managed) } else { Err(Problem::Absent("none is installed")) };
    let virtual_env = places.virtual_env.filter(|path| !path.is_empty());
    let virtual_env = virtual_env.map(|path| Path::new(path).join("bin/python"));
    let on_path = places.search_path.and_then(|path| on_search_path(path, "python3"));
    let mut candidates = vec![
        (Origin::Managed, managed),
        (Origin::VirtualEnv, virtual_env.ok_or(Problem::Absent("none is active"))),
        (Origin::SearchPath, on_path.ok_or(Problem::Absent("there is none"))),
    ];
    if let Some(setting) = places.setting {
        candidates.insert(0, (Origin::Setting, Ok(setting.to_owned())));
    }
    candidates
}

fn examine(path: &Path, origin: Origin) -> Result<Interpreter, Problem> {
    if !path.exists() {
        return Err(Problem::NoFile);
    }
    if !is_executable(path) {
        return Err(Problem::NotExecutable);
    }
    let (python, _, airflow) = probe(path).map_err(Problem::Broken)?;
    if is_too_old(&python) {
        return Err(Problem::TooOld(python));
    }
    match airflow.as_str() {
        "" => Err(Problem::NoAirflow),
        version if version.starts_with("3.3.") => {
            Ok(Interpreter { path: path.to_owned(), python, airflow, origin })
        }
        _ => Err(Problem::OtherAirflow(airflow)),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Setting => "[ferroflow] python",
            Self::Managed => "ferroflow python install",
            Self::VirtualEnv => "active virtualenv (VIRTUAL_ENV)",
            Self::SearchPath => "python3 on PATH",
        })
    }
}

fn list(rejected: &[Rejected]) -> String {
    let mut text = String::new();
    for Rejected { origin, path, problem } in rejected {
        let path = path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
        let _ = write!(text, "\n  {origin}: {path}{problem}");
    }
    text
}
