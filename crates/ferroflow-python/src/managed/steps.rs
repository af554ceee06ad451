//! The steps of an installation, and which of them are done.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A step of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Making the virtualenv, with what builds packages.
    Environment,
    /// Fetching the packages.
    Fetch,
    /// Putting them into the virtualenv.
    Install,
    /// Asking pip whether all fits together.
    Check,
}

impl Step {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Environment, Self::Fetch, Self::Install, Self::Check];

    fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Fetch => "fetch",
            Self::Install => "install",
            Self::Check => "check",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Environment => "creating the virtualenv",
            Self::Fetch => "fetching packages",
            Self::Install => "installing packages",
            Self::Check => "checking what is installed",
        })
    }
}

/// What was done, kept in a file beside the virtualenv.
pub(super) struct Steps {
    file: PathBuf,
    done: Vec<Step>,
}

impl Steps {
    /// What an installation before this one has done, as far as it can be relied on.
    pub(super) fn load(file: PathBuf, venv: &Path, packages: &Path) -> Self {
        let text = fs_err::read_to_string(&file).unwrap_or_default();
        let said =
            |what: &str, step: Step| text.lines().any(|line| line == format!("{what} {}", step.name()));
        let is_cut_short = said("begun", Step::Install);
        // Its interpreter is a link to one that may have been uninstalled.
        let has_python = venv.join("bin/python").exists();
        let is_whole = has_python && !is_cut_short;
        let is_done = |step: Step| {
            said("done", step)
                && match step {
                    // They are removed when they are installed.
                    Step::Fetch => packages.exists() || (is_whole && said("done", Step::Install)),
                    Step::Environment | Step::Install | Step::Check => is_whole,
                }
        };
        let done = Step::ALL.into_iter().filter(|step| is_done(*step)).collect();
        Self { file, done }
    }

    pub(super) fn is_done(&self, step: Step) -> bool {
        self.done.contains(&step)
    }

    /// Notes that a step is at work. In a new virtualenv nothing is installed.
    pub(super) fn begin(&mut self, step: Step) -> io::Result<()> {
        let is_kept = |done: Step| done < step || (step == Step::Environment && done == Step::Fetch);
        self.done.retain(|done| is_kept(*done));
        self.write(&format!("begun {}\n", step.name()))
    }

    /// Notes that it is done.
    pub(super) fn finish(&mut self, step: Step) -> io::Result<()> {
        self.done.push(step);
        self.write("")
    }

    /// At once: a process that is killed leaves the old text or the new one.
    fn write(&self, at_work: &str) -> io::Result<()> {
        let mut text = String::new();
        for step in &self.done {
            text.push_str("done ");
            text.push_str(step.name());
            text.push('\n');
        }
        let new = self.file.with_extension("new");
        fs_err::write(&new, text + at_work)?;
        fs_err::rename(new, &self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self { folder: tempfile::TempDir::new().unwrap() };
            for folder in ["venv/bin", "packages"] {
                std::fs::create_dir_all(place.path(folder)).unwrap();
            }
            std::fs::write(place.path("venv/bin/python"), "").unwrap();
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn steps(&self) -> Steps {
            Steps::load(self.path("steps"), &self.path("venv"), &self.path("packages"))
        }
    }

    fn done(steps: &Steps) -> Vec<Step> {
        Step::ALL.into_iter().filter(|step| steps.is_done(*step)).collect()
    }

    fn take(steps: &mut Steps, taken: &[Step]) {
        for step in taken {
            steps.begin(*step).unwrap();
            steps.finish(*step).unwrap();
        }
    }

    #[test]
    fn a_step_that_was_done_is_not_repeated() {
        let place = Place::new();
        assert_eq!(done(&place.steps()), []);
        take(&mut place.steps(), &[Step::Environment]);
        let mut steps = place.steps();
        steps.begin(Step::Fetch).unwrap();
        assert_eq!(done(&place.steps()), [Step::Environment], "what was begun is not done");
        steps.finish(Step::Fetch).unwrap();
        assert_eq!(done(&place.steps()), [Step::Environment, Step::Fetch]);
        take(&mut place.steps(), &[Step::Install, Step::Check]);
        std::fs::remove_dir(place.path("packages")).unwrap();
        assert_eq!(done(&place.steps()), Step::ALL, "packages are not needed any more");
    }

    #[test]
    fn a_virtualenv_that_was_cut_short_is_made_anew_from_the_same_packages() {
        let place = Place::new();
        let mut steps = place.steps();
        take(&mut steps, &[Step::Environment, Step::Fetch]);
        steps.begin(Step::Install).unwrap();
        let mut steps = place.steps();
        assert_eq!(done(&steps), [Step::Fetch]);
        take(&mut steps, &[Step::Environment]);
        assert_eq!(done(&place.steps()), [Step::Environment, Step::Fetch]);
    }

    #[test]
    fn a_virtualenv_without_its_interpreter_is_made_anew() {
        let place = Place::new();
        take(&mut place.steps(), &Step::ALL);
        std::fs::remove_file(place.path("venv/bin/python")).unwrap();
        assert_eq!(done(&place.steps()), [Step::Fetch]);
        std::fs::remove_dir(place.path("packages")).unwrap();
        assert_eq!(done(&place.steps()), []);
    }
}
