//! The steps, taken by Python's `venv` and pip.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use super::{InstallError, Installation, Progress, Step};
use crate::program::{self, Line, Stopped};

/// What would make a virtualenv's Python look outside of it, or pip install elsewhere.
const MISLEADING: [&str; 9] = [
    "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_CONSTRAINT",
    "PIP_DRY_RUN",
    "PIP_REQUIRE_VIRTUALENV",
];
/// pip puts packages into the folder when it has fetched all that it was told to: that is how much is lost when it is
/// killed.
const AT_A_TIME: usize = 20;
/// Has Python's name but is pip's: by it pip finds the password of a package index.
const KEYRING: &str = "PYTHON_KEYRING_BACKEND";

/// Whether an interpreter has what makes a virtualenv with pip in it.
pub(super) fn can_make_virtualenvs(python: &Path) -> Result<(), String> {
    match program::output(python, &["-c", "import venv, ensurepip"]) {
        Ok(_) => Ok(()),
        Err(Stopped::Failed { .. }) => Err("its venv module is missing".to_owned()),
        Err(other) => Err(other.to_string()),
    }
}

/// An installation at work.
pub(super) struct Pip<'a> {
    pub(super) installation: Installation<'a>,
    pub(super) root: &'a Path,
    pub(super) venv: PathBuf,
    /// What the virtualenv is made with.
    pub(super) python: PathBuf,
    pub(super) lock: File,
    /// How many packages are in the folder.
    pub(super) fetched: usize,
    pub(super) cancelled: &'a AtomicBool,
    pub(super) progress: &'a mut dyn FnMut(Progress),
}

impl Pip<'_> {
    /// Takes a step.
    pub(super) fn take(&mut self, step: Step) -> Result<(), InstallError> {
        match step {
            Step::Environment => self.make_environment(step),
            Step::Fetch => {
                let packages = self.root.join("packages");
                for part in self.installation.requirements.parts(AT_A_TIME) {
                    let list = self.listed("requirements.lock", &part)?;
                    self.pip(step, &["download", "--no-build-isolation", "--dest"], &[&packages, &list])?;
                }
                Ok(())
            }
            Step::Install => {
                let list = self.listed("requirements.lock", &self.installation.requirements.packages)?;
                let packages = self.root.join("packages");
                let options = ["install", "--no-user", "--no-index", "--no-build-isolation", "--find-links"];
                self.pip(step, &options, &[&packages, &list])
            }
            Step::Check => {
                let mut command = self.command(&self.venv.join("bin/python"))?;
                command.args(["-m", "pip", "--disable-pip-version-check", "check"]);
                self.run(step, &mut command)
            }
        }
    }

    fn make_environment(&mut self, step: Step) -> Result<(), InstallError> {
        if self.venv.exists() {
            fs_err::remove_dir_all(&self.venv)?;
        }
        let mut command = self.command(&self.python)?;
        command.args(["-m", "venv"]).arg(&self.venv);
        self.run(step, &mut command)?;
        let Some(build) = &self.installation.requirements.build else {
            return Ok(());
        };
        let list = self.listed("build-requirements.lock", build)?;
        self.pip(step, &["install", "--no-user"], &[&list])
    }

    /// Runs a command of pip that ends in a list of requirements.
    fn pip(&mut self, step: Step, options: &[&str], paths: &[&Path]) -> Result<(), InstallError> {
        let mut command = self.command(&self.venv.join("bin/python"))?;
        command.args(["-m", "pip", "--disable-pip-version-check", "--no-input"]).args(options);
        let Some((list, others)) = paths.split_last() else {
            return Ok(());
        };
        command.args(others).args(["--require-hashes", "--no-deps", "--requirement"]).arg(list);
        self.run(step, &mut command)
    }

    fn listed(&self, name: &str, text: &str) -> Result<PathBuf, InstallError> {
        let path = self.root.join(name);
        fs_err::write(&path, text)?;
        Ok(path)
    }

    fn command(&self, python: &Path) -> Result<Command, InstallError> {
        let mut command = Command::new(python);
        let is_kept =
            |name: &str| name == KEYRING || !(name.starts_with("PYTHON") || MISLEADING.contains(&name));
        let variables = self.installation.environment.vars();
        command
            .env_clear()
            .envs(variables.filter(|(name, _)| is_kept(&name.to_string_lossy())))
            .current_dir(self.root)
            // An empty file, and the lock: the process that has it open holds it.
            .stdin(Stdio::from(self.lock.try_clone()?));
        Ok(command)
    }

    fn run(&mut self, step: Step, command: &mut Command) -> Result<(), InstallError> {
        let path = self.root.join("install.log");
        let mut log = File::options().create(true).append(true).open(&path)?;
        let total = self.installation.requirements.count();
        let outcome = program::run(command, None, self.cancelled, &mut |line| {
            let (Line::Output(line) | Line::Complaint(line)) = line;
            drop(writeln!(log, "{line}"));
            if let Some(name) = package(line).filter(|_| step == Step::Fetch) {
                self.fetched += 1;
                (self.progress)(Progress::Package { done: self.fetched, total, name: name.to_owned() });
            }
        });
        outcome.map_err(|stopped| match stopped {
            Stopped::Cancelled => InstallError::Stopped,
            other => InstallError::Failed { step, problem: other.to_string(), log: path },
        })
    }
}

/// The package that pip begins with, or passes over because it is for another system.
fn package(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Collecting ").or_else(|| line.strip_prefix("Ignoring "))?;
    rest.split(['=', ':', ' ']).next()
}
