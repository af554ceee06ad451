//! `ferroflow python`: which interpreter is shown, and what is said where there is none.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ferroflow_testkit::{Program, given};

/// On a machine with no Python on its search path.
fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow")).with("PATH", "/nonexistent")
}

/// The error of a command that prints nothing else.
fn error(program: &Program, arguments: &[&str]) -> String {
    let finished = program.run(arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{}", finished.stderr);
    finished.stderr
}

#[test]
fn the_interpreter_of_the_active_virtualenv_is_shown() {
    let venv = given("VENV");
    let shown = ferroflow().with("VIRTUAL_ENV", &venv).run(&["python", "show"]).expect_success();
    let lines: Vec<&str> = shown.lines().collect();
    let [python, version, airflow, found_by] = lines[..] else { panic!("{shown}") };
    assert_eq!(python, format!("python    {venv}/bin/python"));
    assert!(version.starts_with("version   3."), "{version}");
    assert_eq!(airflow, "airflow   3.3.2");
    assert_eq!(found_by, "found by  active virtualenv (VIRTUAL_ENV)");
}

#[test]
fn what_is_set_is_shown_though_another_is_active() {
    let program = ferroflow().with("VIRTUAL_ENV", "/nonexistent");
    let python = Path::new(&given("VENV")).join("bin/python");
    let cfg = format!("[ferroflow]\npython = {}\n", python.display());
    std::fs::write(program.home().join("airflow.cfg"), cfg).unwrap();
    let shown = program.run(&["python", "show"]).expect_success();
    assert!(shown.ends_with("found by  [ferroflow] python\n"), "{shown}");
}

#[test]
fn a_setting_that_names_no_interpreter_is_an_error_though_another_is_active() {
    let program = ferroflow()
        .with("VIRTUAL_ENV", &given("VENV"))
        .with("AIRFLOW__FERROFLOW__PYTHON", "/opt/airflow/bin/pyton");
    let error = error(&program, &["python", "show"]);
    assert!(
        error.contains("\n  [ferroflow] python: /opt/airflow/bin/pyton: there is no such file\n"),
        "{error}"
    );
    assert!(!error.contains("VIRTUAL_ENV"), "{error}");
}

#[test]
fn where_nothing_is_found_every_place_is_named_with_what_to_do() {
    let error = error(&ferroflow(), &["python", "show"]);
    for part in [
        "no Python with Airflow 3.3 was found:",
        "\n  ferroflow python install: none is installed",
        "\n  active virtualenv (VIRTUAL_ENV): none is active",
        "\n  python3 on PATH: there is none",
        "run: ferroflow python install",
    ] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn an_installation_without_a_python_to_start_from_says_what_to_install() {
    let program = ferroflow();
    let refused = error(&program, &["python", "install"]);
    assert!(refused.contains("no Python 3.10 or newer with the venv module was found on PATH"), "{refused}");
    assert!(refused.contains("apt-get install python3 python3-venv"), "{refused}");

    // One that is too old is named.
    let old = program.home().join("python3");
    std::fs::write(&old, "#!/bin/sh\nprintf '%s\\n' 3.8 \"$0\" ''\n").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let folder = program.home().to_str().unwrap().to_owned();
    let refused = error(&program.with("PATH", &folder), &["python", "install"]);
    assert!(refused.contains(&format!("\n  {}: is Python 3.8", old.display())), "{refused}");
}
