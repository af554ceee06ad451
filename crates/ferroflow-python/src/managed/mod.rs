//! An interpreter of our own: a virtualenv in Airflow's home with the packages that ferroflow is tested with.
//!
//! It is made by plain pip, which obeys what pip is told on this machine: its configuration files, its `PIP_`
//! variables, its certificates. Nothing outside of `ferroflow-python` is written.
//!
//! An installation that was cut short goes on where it was: packages are fetched into a folder first, which takes
//! longest and goes on with what is missing there, and then installed from there. pip does not say how far it came when it
//! is killed while installing, so the virtualenv is then made anew.

mod pip;
mod requirements;
mod steps;

use std::fmt::Write as _;
use std::fs::TryLockError;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferroflow_config::Environment;
use sha2::{Digest as _, Sha256};

use crate::interpreter::{self, OLDEST_PYTHON};

pub use requirements::Requirements;
pub use steps::Step;

use pip::Pip;
use steps::Steps;

const TICK: Duration = Duration::from_millis(200);
/// From the newest that Airflow 3.3 knows; `python3` comes first, and may be any.
const PYTHONS: [&str; 6] = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];

/// What to install, and where.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'a> {
    /// Airflow's home.
    pub airflow_home: &'a Path,
    /// Where a Python to start from is found, and what pip is told.
    pub environment: &'a Environment,
    /// The packages.
    pub requirements: &'a Requirements,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another installation is at work in the same place.
    Waiting,
    /// A step begins.
    Begun(Step),
    /// A step was done by an installation before this one.
    Kept(Step),
    /// A package was fetched.
    Package {
        /// How many are there,
        done: usize,
        /// of how many,
        total: usize,
        /// and which.
        name: String,
    },
}

/// Why there is no interpreter at the end.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is no Python to start from.
    #[error(
        "no Python {major}.{minor} or newer with the venv module was found on PATH{tried}\ninstall one (on Debian and \
         Ubuntu: apt-get install python3 python3-venv) and run this again",
        major = OLDEST_PYTHON.0, minor = OLDEST_PYTHON.1
    )]
    NoPython {
        /// What was found instead, a line each.
        tried: String,
    },
    /// A step failed.
    #[error("{step} failed: {problem}\nall that was said is in {}; run `ferroflow python install` again to go on", log.display())]
    Failed {
        /// Which.
        step: Step,
        /// How.
        problem: String,
        /// Where to read more.
        log: PathBuf,
    },
    /// It was stopped.
    #[error("stopped; run `ferroflow python install` again to go on")]
    Stopped,
    /// The folder cannot be written.
    #[error("the folder for the interpreter cannot be used")]
    Folder(#[from] std::io::Error),
}

/// Installs an interpreter, or finishes an installation, and returns its path. One that is complete stays as it is.
pub fn install(
    installation: Installation<'_>,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, InstallError> {
    // pip is run elsewhere, and the links in a virtualenv are absolute.
    let home = installation.environment.current_dir().join(installation.airflow_home);
    let root = home.join("ferroflow-python");
    fs_err::create_dir_all(&root)?;
    let lock = locked(&root, cancelled, progress)?;
    let python = base_python(installation.environment)?;
    let name = format!("venv-{}", key(&python, installation.requirements));
    let mut steps =
        Steps::load(root.join(format!("{name}.steps")), &root.join(&name), &root.join("packages"));
    let mut pip = Pip {
        installation,
        root: &root,
        venv: root.join(&name),
        python,
        lock,
        fetched: 0,
        cancelled,
        progress,
    };
    for step in Step::ALL {
        if steps.is_done(step) {
            (pip.progress)(Progress::Kept(step));
            continue;
        }
        (pip.progress)(Progress::Begun(step));
        steps.begin(step)?;
        pip.take(step)?;
        steps.finish(step)?;
    }
    make_current(&root, &name)?;
    Ok(interpreter::managed_python(&home))
}

/// Two installations at once must not write the same files. Whatever is started inherits the lock: pip may outlive
/// an installation that is killed.
fn locked(
    root: &Path,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<std::fs::File, InstallError> {
    let path = root.join("lock");
    let lock = std::fs::File::options().create(true).append(true).read(true).open(path)?;
    let mut told = false;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Err(TryLockError::WouldBlock) if cancelled.load(Ordering::Relaxed) => {
                return Err(InstallError::Stopped);
            }
            Err(TryLockError::WouldBlock) if !told => {
                progress(Progress::Waiting);
                told = true;
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(TICK),
        }
    }
}

/// A Python to make the virtualenv with.
fn base_python(environment: &Environment) -> Result<PathBuf, InstallError> {
    let search_path = environment.var("PATH").unwrap_or_default();
    let mut tried = String::new();
    for path in PYTHONS.iter().filter_map(|name| interpreter::on_search_path(search_path, name)) {
        let problem = match interpreter::probe(&path) {
            Ok((version, ..)) if interpreter::is_too_old(&version) => format!("is Python {version}"),
            // Where there are several of one name, as pyenv has them, the answer names the one that it is.
            Ok((_, executable, _)) => match pip::can_make_virtualenvs(&executable) {
                Ok(()) => return Ok(executable),
                Err(problem) => problem,
            },
            Err(problem) => problem,
        };
        let _ = write!(tried, "\n  {}: {problem}", path.display());
    }
    Err(InstallError::NoPython { tried })
}

/// Names what is installed: other packages or another Python are another virtualenv.
fn key(python: &Path, requirements: &Requirements) -> String {
    let mut hash = Sha256::new();
    hash.update(python.as_os_str().as_encoded_bytes());
    hash.update([0]);
    hash.update(&requirements.packages);
    hash.update([0]);
    hash.update(requirements.build.as_deref().unwrap_or_default());
    let mut key = String::new();
    for byte in hash.finalize().iter().take(6) {
        let _ = write!(key, "{byte:02x}");
    }
    key
}

/// Makes it the one that is used, at once, and removes what it replaces.
fn make_current(root: &Path, name: &str) -> Result<(), InstallError> {
    let new = root.join("current.new");
    if new.symlink_metadata().is_ok() {
        fs_err::remove_file(&new)?;
    }
    symlink(name, &new)?;
    fs_err::rename(&new, root.join("current"))?;
    for entry in fs_err::read_dir(root)? {
        let entry = entry?;
        let found = entry.file_name();
        let found = found.to_string_lossy();
        let is_old = found.starts_with("venv-") && !found.starts_with(name);
        if entry.file_type()?.is_dir() && (is_old || found == "packages") {
            fs_err::remove_dir_all(entry.path())?;
        } else if is_old {
            fs_err::remove_file(entry.path())?;
        }
    }
    Ok(())
}
