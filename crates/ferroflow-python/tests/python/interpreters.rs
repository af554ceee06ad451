//! Which interpreter is found, and what is said where none will do.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ferroflow_python::interpreter::{Interpreter, Origin, Places};
use tempfile::TempDir;

/// A program that answers as an interpreter would.
fn python(place: &Path, version: &str, airflow: &str) -> PathBuf {
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, format!("#!/bin/sh\nprintf '%s\\n' '{version}' \"$0\" '{airflow}'\n")).unwrap();
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.to_owned()
}

#[test]
fn the_first_that_will_do_is_taken() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("home");
    let bin = folder.path().join("bin");
    let venv = folder.path().join("venv");
    let (venv_text, bin_text) = (venv.to_str().unwrap(), bin.to_str().unwrap());
    let found = |setting: Option<&Path>| {
        let places = Places {
            setting,
            virtual_env: Some(venv_text),
            search_path: Some(bin_text),
            airflow_home: &home,
        };
        Interpreter::find(places).map(|found| (found.origin, found.path))
    };

    let on_path = python(&bin.join("python3"), "3.13", "3.3.1");
    assert_eq!(found(None).unwrap(), (Origin::SearchPath, on_path));
    let in_venv = python(&venv.join("bin/python"), "3.10", "3.3.2");
    assert_eq!(found(None).unwrap(), (Origin::VirtualEnv, in_venv.clone()));
    let managed = python(&home.join("ferroflow-python/current/bin/python"), "3.11", "3.3.2");
    assert_eq!(found(None).unwrap(), (Origin::Managed, managed));
    assert_eq!(found(Some(in_venv.as_path())).unwrap(), (Origin::Setting, in_venv.clone()));

    // Somebody meant what is set: another is not taken in its place.
    let error = found(Some(Path::new("/opt/none/bin/python"))).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "no Python with Airflow 3.3 was found:\n  [ferroflow] python: /opt/none/bin/python: there is no such file\n"
        ),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_each_is_told() {
    let folder = TempDir::new().unwrap();
    let bin = folder.path().join("bin");
    let find = || {
        let places = Places {
            setting: None,
            virtual_env: None,
            search_path: Some(bin.to_str().unwrap()),
            airflow_home: folder.path(),
        };
        Interpreter::find(places).unwrap_err().to_string()
    };
    let error = find();
    for part in [
        "\n  ferroflow python install: none is installed",
        "\n  active virtualenv (VIRTUAL_ENV): none is active",
        "\n  python3 on PATH: there is none",
        "run: ferroflow python install",
        "set [ferroflow] python",
    ] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
    for (version, airflow, problem) in [
        ("3.9", "", "it is Python 3.9; Airflow 3.3 needs 3.10 or newer"),
        ("3.12", "", "it has no Airflow"),
        ("3.12", "2.10.4", "it has Airflow 2.10.4, not 3.3"),
        ("3.12", "3.30.1", "it has Airflow 3.30.1, not 3.3"),
        ("hello", "", "it does not work: it does not tell its version"),
    ] {
        python(&bin.join("python3"), version, airflow);
        let error = find();
        assert!(error.contains(problem), "{problem:?} is not in: {error}");
    }
    std::fs::write(bin.join("python3"), "#!/bin/sh\necho 'no libpython' >&2\nexit 127\n").unwrap();
    let error = find();
    assert!(error.contains("it does not work: exit status: 127\n    no libpython"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "./test tells its tests where Airflow is")]
fn the_real_airflow_is_recognized() {
    let venv = std::env::var("FERROFLOW_TEST_VENV").expect("tests are run by ./test");
    let places = Places {
        setting: None,
        virtual_env: Some(&venv),
        search_path: None,
        airflow_home: Path::new("/nonexistent"),
    };
    let found = Interpreter::find(places).unwrap();
    assert_eq!((found.airflow.as_str(), found.origin), ("3.3.2", Origin::VirtualEnv));
}
