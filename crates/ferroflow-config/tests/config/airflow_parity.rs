//! Replays what Airflow 3.3.2 answered (see `testdata/config/record_cases.py`) and compares.
//!
//! Where ferroflow deliberately differs, the case itself says so, how and why.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::fs;
use std::path::Path;

use ferroflow_config::{Configuration, Environment, Error, Listing};
use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    file: Option<String>,
    #[serde(default)]
    files: IndexMap<String, String>,
    #[serde(default)]
    env: IndexMap<String, String>,
    #[serde(default)]
    unset: Vec<String>,
    encoding: Option<String>,
    args: Vec<String>,
    ferroflow: Option<Difference>,
    airflow: Answer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    exit: i32,
    stdout: String,
    warned: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    error: Option<String>,
    stdout: Option<String>,
    because: String,
}

#[test]
fn get_value_answers_as_airflow() {
    let failures: Vec<String> =
        recorded("cases.json").iter().filter_map(|case| check(case, get_value)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn list_prints_as_airflow() {
    let failures: Vec<String> = recorded("lists.json").iter().filter_map(|case| check(case, list)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn recorded<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/config").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// What is wrong with ferroflow's answer, if anything.
fn check(case: &Case, answer: fn(&Case, &Configuration) -> Result<String, Error>) -> Option<String> {
    let root = TempDir::new().unwrap();
    let loaded = Configuration::load(&prepare(case, root.path()));
    let warned = loaded.as_ref().is_ok_and(|configuration| !configuration.warnings().is_empty());
    let answer = loaded
        .and_then(|configuration| answer(case, &configuration))
        .map(|text| text.replace(root.path().to_str().unwrap(), "@ROOT@"))
        .map_err(|error| error.to_string());
    let expected = match &case.ferroflow {
        Some(Difference { error: Some(part), because, .. }) => {
            let as_expected = answer.as_ref().is_err_and(|error| error.contains(part));
            return (!as_expected)
                .then(|| format!("{}: {answer:?} is not an error with {part:?} ({because})", case.name));
        }
        Some(Difference { stdout: Some(stdout), .. }) => Some(stdout),
        _ => (case.airflow.exit == 0).then_some(&case.airflow.stdout),
    };
    if answer.as_ref().ok() != expected {
        return Some(format!("{}: {}", case.name, first_difference(expected, answer.as_deref())));
    }
    (case.airflow.warned && !warned).then(|| format!("{}: airflow warns, ferroflow does not", case.name))
}

fn first_difference(airflow: Option<&String>, ferroflow: Result<&str, &String>) -> String {
    let (Some(theirs), Ok(ours)) = (airflow, ferroflow) else {
        return format!("airflow {airflow:?}, ferroflow {ferroflow:?}");
    };
    let common = theirs.lines().zip(ours.lines()).take_while(|(theirs, ours)| theirs == ours).count();
    let line = |text: &str| text.split('\n').nth(common).map(str::to_owned);
    format!("line {}: airflow {:?}, ferroflow {:?}", common + 1, line(theirs), line(ours))
}

/// Lays out the case's files below `root`.
fn prepare(case: &Case, root: &Path) -> Environment {
    let root_name = root.to_str().unwrap();
    fs::create_dir(root.join("airflow")).unwrap();
    let main_file = case.file.iter().map(|text| ("airflow/airflow.cfg", text));
    for (name, text) in main_file.chain(case.files.iter().map(|(name, text)| (name.as_str(), text))) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.replace("@ROOT@", root_name);
        let bytes = match case.encoding.as_deref() {
            Some("latin-1") => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(),
            _ => text.into_bytes(),
        };
        fs::write(path, bytes).unwrap();
    }
    let home = format!("{root_name}/airflow");
    let mut variables =
        IndexMap::from([("PATH", "/usr/bin:/bin"), ("HOME", root_name), ("AIRFLOW_HOME", &home)]);
    variables.extend(case.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    variables.retain(|name, _| !case.unset.iter().any(|unset| unset == name));
    let environment = Environment::empty(root).with_user_home("root", "/root");
    variables.iter().fold(environment, |environment, (name, value)| {
        environment.with(name, value.replace("@ROOT@", root_name))
    })
}

fn get_value(case: &Case, configuration: &Configuration) -> Result<String, Error> {
    let [command, section, key] = case.args.as_slice() else { panic!("{}: odd arguments", case.name) };
    assert_eq!(command, "get-value", "{}", case.name);
    Ok(format!("{}\n", configuration.require(section, key)?.text))
}

fn list(case: &Case, configuration: &Configuration) -> Result<String, Error> {
    let has = |flag: &str| case.args.iter().any(|argument| argument == flag);
    let section = case.args.iter().skip_while(|argument| *argument != "--section").nth(1).cloned();
    let listing = Listing {
        section,
        defaults: has("--defaults"),
        show_values: has("--show-values"),
        include_sources: has("--include-sources"),
        include_env_vars: has("--include-env-vars"),
        hide_sensitive: has("--hide-sensitive"),
        comment_out_everything: has("--comment-out-everything"),
    };
    let text = without_own_section(&format!("{}\n", listing.render(configuration)?));
    Ok(if has("--defaults") { without_spacing(&text) } else { text })
}

/// Airflow knows no `[ferroflow]`.
fn without_own_section(text: &str) -> String {
    let mut ours = false;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') {
            ours = line.starts_with("[ferroflow]");
        }
        if !ours {
            kept.push_str(line);
        }
    }
    // The line that ends the listing went with the section if that was the last one.
    if ours { kept + "\n" } else { kept }
}

/// Airflow's descriptions and examples are not recorded, and with them goes the spacing.
fn without_spacing(text: &str) -> String {
    let mut kept = String::new();
    for line in text.split_inclusive('\n').filter(|line| !matches!(*line, "\n" | "#\n")) {
        kept.push_str(line);
    }
    kept
}
