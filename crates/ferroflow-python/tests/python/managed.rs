//! The managed interpreter, with one small package in place of Airflow.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use ferroflow_config::Environment;
use ferroflow_python::managed::{InstallError, Installation, Progress, Requirements, Step, install};
use tempfile::TempDir;

/// As the lock file of the repository has it.
fn one_package() -> Requirements {
    let lock =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/requirements.lock"));
    let lock = lock.unwrap();
    let start = lock.find("\nsix==").unwrap() + 1;
    let end = start + lock[start..].find("\nsmmap==").unwrap() + 1;
    Requirements { packages: lock[start..end].to_owned(), build: None }
}

/// An empty home, and what pip is told on this machine, with what would lead it astray.
fn environment(home: &TempDir) -> Environment {
    let mut environment = Environment::empty("/");
    for (name, value) in Environment::from_process().vars() {
        environment = environment.with(name, value);
    }
    let elsewhere = home.path().join("elsewhere");
    environment
        .with("HOME", home.path())
        .with("PIP_TARGET", &elsewhere)
        .with("PYTHONPATH", &elsewhere)
        .with("PIP_USER", "1")
}

#[test]
fn an_installation_is_stopped_and_goes_on() {
    let home = TempDir::new().unwrap();
    let (environment, requirements) = (environment(&home), one_package());
    let installation =
        Installation { airflow_home: home.path(), environment: &environment, requirements: &requirements };
    let run = |stop_at: Option<Step>| {
        let cancelled = AtomicBool::new(false);
        let mut told = Vec::new();
        let python = install(installation, &cancelled, &mut |progress| {
            cancelled
                .fetch_or(stop_at.is_some_and(|step| progress == Progress::Begun(step)), Ordering::Relaxed);
            told.push(progress);
        });
        (python, told)
    };

    let (stopped, _) = run(Some(Step::Environment));
    assert!(matches!(stopped, Err(InstallError::Stopped)), "{stopped:?}");
    let (stopped, told) = run(Some(Step::Install));
    assert!(matches!(stopped, Err(InstallError::Stopped)), "{stopped:?}");
    assert!(told.contains(&Progress::Package { done: 1, total: 1, name: "six".to_owned() }), "{told:?}");
    assert!(!home.path().join("ferroflow-python/current").exists());
    let (python, told) = run(None);
    let python = python.unwrap();
    assert_eq!(
        told,
        [
            Progress::Begun(Step::Environment),
            Progress::Kept(Step::Fetch),
            Progress::Begun(Step::Install),
            Progress::Begun(Step::Check),
        ],
        "what was cut short is made anew, what was fetched stays"
    );
    assert_eq!(python, home.path().join("ferroflow-python/current/bin/python"));
    let output = Command::new(&python).args(["-c", "import six; print(six.__file__)"]).output().unwrap();
    let file = String::from_utf8(output.stdout).unwrap();
    assert!(file.contains("ferroflow-python/current/lib"), "{file}");
    assert!(!home.path().join("elsewhere").exists(), "nothing went where the environment would have led pip");
    assert!(!home.path().join("ferroflow-python/packages").exists());

    let (again, told) = run(None);
    assert_eq!((again.unwrap(), told), (python, Step::ALL.map(Progress::Kept).to_vec()));
}

#[test]
fn a_package_that_is_not_the_one_that_is_locked_is_refused() {
    let home = TempDir::new().unwrap();
    let environment = environment(&home);
    let packages = format!("six==1.17.0 --hash=sha256:{}\n", "0".repeat(64));
    let requirements = Requirements { packages, build: None };
    let installation =
        Installation { airflow_home: home.path(), environment: &environment, requirements: &requirements };
    let error = install(installation, &AtomicBool::new(false), &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("fetching packages failed: exit status: 1"), "{error}");
    assert!(error.contains("ferroflow-python/install.log; run `ferroflow python install` again"), "{error}");
}
