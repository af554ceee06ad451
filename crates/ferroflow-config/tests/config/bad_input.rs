//! Files that cannot be read: each error names the file and the line, and says what to do.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::error::Error as _;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use ferroflow_config::{Configuration, Environment, Settings};
use tempfile::TempDir;

fn load_error(root: &Path, environment: &Environment) -> String {
    let error = Configuration::load(environment).unwrap_err();
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}").replace(root.to_str().unwrap(), "@ROOT@")
}

fn error_of_file(contents: &[u8]) -> String {
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("airflow.cfg"), contents).unwrap();
    load_error(root.path(), &Environment::empty(root.path()).with("AIRFLOW_HOME", root.path()))
}

#[test]
fn a_missing_file_means_defaults_and_is_not_created() {
    let root = TempDir::new().unwrap();
    let environment = Environment::empty(root.path()).with("AIRFLOW_HOME", root.path());
    let configuration = Configuration::load(&environment).unwrap();
    assert_eq!(configuration.require("core", "parallelism").unwrap().text, "32");
    assert!(!configuration.path().exists());
}

#[test]
fn a_missing_file_that_was_asked_for_by_name_is_refused_by_all_that_work_with_settings() {
    let root = TempDir::new().unwrap();
    let environment =
        Environment::empty(root.path()).with("AIRFLOW_HOME", root.path()).with("AIRFLOW_CONFIG", "my.cfg");
    let configuration = Configuration::load(&environment).unwrap();
    let warnings: Vec<String> = configuration.warnings().iter().map(ToString::to_string).collect();
    let path = root.path().join("my.cfg");
    let named = format!("AIRFLOW_CONFIG names {}, which does not exist", path.display());
    assert_eq!(warnings, [format!("{named}: defaults are in effect")]);
    let invalid = Settings::load(&configuration).unwrap_err();
    assert_eq!(invalid.problems, [format!("{named}; make the file, correct the variable, or unset it")]);
    fs::write(path, "").unwrap();
    Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
}

#[test]
fn a_directory() {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("airflow.cfg")).unwrap();
    let environment = Environment::empty(root.path()).with("AIRFLOW_HOME", root.path());
    assert_eq!(
        load_error(root.path(), &environment),
        "@ROOT@/airflow.cfg is a directory; it has to be a file, or AIRFLOW_CONFIG has to name another path"
    );
}

#[test]
fn a_path_that_cannot_be_opened() {
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let environment =
        Environment::empty(root.path()).with("AIRFLOW_CONFIG", root.path().join("file/airflow.cfg"));
    let error = load_error(root.path(), &environment);
    assert!(
        error.starts_with("cannot read the configuration; check that this user may read the file"),
        "{error}"
    );
    assert!(error.contains("@ROOT@/file/airflow.cfg"), "{error}");
}

#[test]
fn binary_garbage() {
    assert_eq!(
        error_of_file(b"[core]\nx = 1\n\xff\xfe\x00\x80\n"),
        "@ROOT@/airflow.cfg:3: not valid UTF-8; save the file in that encoding"
    );
}

#[test]
fn no_section_header() {
    assert_eq!(
        error_of_file(b"# mine\n\nparallelism = 3\n"),
        "@ROOT@/airflow.cfg:3: no section has begun yet; put a line like [core] above this one"
    );
}

#[test]
fn several_wrong_lines_are_reported_together() {
    assert_eq!(
        error_of_file(b"[core]\nparallelism = 1\noops\nparallelism = 2\n"),
        "@ROOT@/airflow.cfg:3: neither `key = value` nor a [section]; indent it if it continues a value\n\
         @ROOT@/airflow.cfg:4: parallelism is in [core] a second time; remove one of the two"
    );
}

fn not_text() -> OsString {
    OsString::from_vec(vec![b'a', 0xff])
}

#[test]
fn a_variable_that_is_not_text_matters_where_it_is_read() {
    const PROBLEM: &str =
        "the environment variable AIRFLOW__CORE__EXECUTOR is not valid UTF-8; set it again or unset it";
    let root = TempDir::new().unwrap();
    let environment = Environment::empty(root.path()).with("AIRFLOW__CORE__EXECUTOR", not_text());
    let configuration = Configuration::load(&environment).unwrap();
    assert_eq!(configuration.require("core", "executor").unwrap_err().to_string(), PROBLEM);
    assert_eq!(Settings::load(&configuration).unwrap_err().problems, [PROBLEM]);
    assert_eq!(configuration.require("core", "parallelism").unwrap().text, "32");
}

#[test]
fn a_variable_that_is_not_text_and_that_nobody_reads_is_ignored() {
    let root = TempDir::new().unwrap();
    let environment = Environment::empty(root.path())
        .with("AIRFLOW_CONN_MINE", not_text())
        .with("AIRFLOW__MINE__THING", not_text())
        .with(not_text(), "x");
    let configuration = Configuration::load(&environment).unwrap();
    assert_eq!(configuration.warnings(), []);
    Settings::load(&configuration).unwrap();
}

#[test]
fn a_home_that_is_not_text() {
    let root = TempDir::new().unwrap();
    for name in ["AIRFLOW_HOME", "AIRFLOW_CONFIG"] {
        let environment = Environment::empty(root.path()).with(name, not_text());
        assert_eq!(
            load_error(root.path(), &environment),
            format!("the environment variable {name} is not valid UTF-8; set it again or unset it")
        );
    }
}
