//! Scenarios of `testdata/cli/cli.json`: what is printed and what is written, on every database.

use std::collections::BTreeMap;
use std::path::Path;

use ferroflow_testkit::{Airflow, Server};
use serde_json::Value;

use crate::cli::site::{Site, recording, times_replaced};

#[tokio::test]
async fn on_sqlite() {
    every_scenario(Server::Sqlite).await;
}

#[tokio::test]
async fn on_postgres() {
    every_scenario(Server::Postgres).await;
}

#[tokio::test]
async fn on_mariadb() {
    every_scenario(Server::MariaDb).await;
}

async fn every_scenario(server: Server) {
    let mut yaml = Vec::new();
    let scenarios = recording()["scenarios"].as_array().unwrap();
    assert!(scenarios.len() > 20, "{} scenarios", scenarios.len());
    for scenario in scenarios {
        play(server, scenario, &mut yaml).await;
    }
    assert!(!yaml.is_empty(), "answers in YAML");
    let (ours, theirs): (Vec<_>, Vec<_>) = yaml.into_iter().unzip();
    assert_eq!(loaded(&ours), loaded(&theirs));
}

async fn play(server: Server, scenario: &Value, yaml: &mut Vec<(String, String)>) {
    let name = scenario["name"].as_str().unwrap();
    let site = Site::on(server).await;
    if let Some(prepared) = scenario["prepared"].as_str() {
        site.put(&recording()["prepared"][prepared]).await;
    }
    for (file, content) in scenario["files"].as_object().unwrap() {
        site.write(file, content.as_str().unwrap());
    }
    for step in scenario["steps"].as_array().unwrap() {
        compare(&site, step, yaml);
    }
    for (table, expected) in scenario["after"].as_object().unwrap() {
        let (columns, rows) = (&expected["columns"], &expected["rows"]);
        same_rows(&format!("{server:?}, {name}: {table}"), &site.rows(table, columns).await, rows);
    }
    for (table, expected) in scenario["archived"].as_object().into_iter().flatten() {
        let ours = site.archived(table, &expected["columns"]).await;
        same_rows(&format!("{server:?}, {name}: archived of {table}"), &ours, &expected["rows"]);
    }
}

fn same_rows(what: &str, ours: &[Value], theirs: &Value) {
    let theirs = theirs.as_array().unwrap();
    let missing: Vec<&Value> = theirs.iter().filter(|row| !ours.contains(row)).collect();
    let extra: Vec<&Value> = ours.iter().filter(|row| !theirs.contains(row)).collect();
    assert!(
        missing.is_empty() && extra.is_empty() && ours.len() == theirs.len(),
        "{what}\nAirflow's: {missing:#?}\nours: {extra:#?}"
    );
}

fn compare(site: &Site, step: &Value, yaml: &mut Vec<(String, String)>) {
    let arguments: Vec<&str> =
        step["arguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let ours = site.run_step(&arguments, step);
    let printed = times_replaced(&ours.stdout);
    let theirs = step["stdout"].as_str().unwrap();
    assert_eq!(Value::from(ours.code), step["code"], "{arguments:?}\n{}{}", ours.stdout, ours.stderr);
    if ours.code == Some(1) && theirs.is_empty() {
        let is_one_line = ours.stderr.starts_with("error: ") && ours.stderr.trim_end().lines().count() == 1;
        assert!(is_one_line && ours.stdout.is_empty(), "{arguments:?}: {}{}", ours.stdout, ours.stderr);
    }
    if step["code"] == 2 {
        return;
    }
    if let Some(file) = step["writes"].as_str() {
        same_file(site, file, &step["written"], yaml);
    }
    if step["tables"] == true {
        return same_counts(&printed, theirs);
    }
    if step["own words"] == true {
        return;
    }
    match *arguments {
        [.., "-o", "json"] => {
            let parsed = |text: &str| {
                let mut value = serde_json::from_str::<Value>(text).ok();
                if let (Some(Value::Array(rows)), true) = (&mut value, step["unordered"] == true) {
                    rows.sort_by_key(Value::to_string);
                }
                value
            };
            assert_eq!(parsed(&printed), parsed(theirs), "{arguments:?}: {printed}{}", ours.stderr);
        }
        [.., "-o", "yaml"] => yaml.push((printed, theirs.to_owned())),
        _ => assert_eq!(lines(&printed), lines(theirs), "{arguments:?}"),
    }
}

/// Rows of a table are in no order, and what Python writes of them depends on the database: those of the recording are
/// SQLite's.
fn same_file(site: &Site, file: &str, theirs: &Value, yaml: &mut Vec<(String, String)>) {
    let ours = site.read(file);
    let kind = Path::new(file).extension().and_then(|kind| kind.to_str());
    if let (Some("yaml"), Some(ours), Some(theirs)) = (kind, &ours, theirs.as_str()) {
        yaml.push((ours.clone(), theirs.to_owned()));
        return;
    }
    if kind != Some("csv") {
        assert_eq!(&Value::from(ours), theirs, "{file}");
        return;
    }
    let lines = |text: Option<&str>| {
        let mut lines: Vec<String> = text.unwrap_or_default().lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let (ours, theirs) = (lines(ours.as_deref()), lines(theirs.as_str()));
    if site.server == Server::Sqlite {
        assert_eq!(ours, theirs, "{file}");
    }
    assert_eq!(ours.len(), theirs.len(), "{file}");
}

/// How many rows of each table would go. Airflow takes tables in any order, and some it fails at.
fn same_counts(ours: &str, theirs: &str) {
    let counts = |text: &str| -> BTreeMap<String, String> {
        let paragraphs = text.split("\n\n").filter(|paragraph| paragraph.contains("Checking table"));
        let counted = paragraphs.filter_map(|paragraph| {
            let table = paragraph.lines().find_map(|line| line.strip_prefix("Checking table "))?;
            let found = paragraph.lines().find(|line| line.starts_with("Found"))?;
            Some((table.trim().to_owned(), found.trim().to_owned()))
        });
        counted.collect()
    };
    let (mut ours, theirs) = (counts(ours), counts(theirs));
    assert!(!theirs.is_empty(), "tables were counted");
    ours.retain(|table, _| theirs.contains_key(table));
    assert_eq!(ours, theirs);
}

/// Without blanks at the ends of lines, and without empty lines at the end.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// What `PyYAML` reads in each of the texts.
fn loaded(documents: &[String]) -> Value {
    let nested = documents
        .iter()
        .enumerate()
        .map(|(number, document)| format!("d{number}:\n  {}\n", document.replace('\n', "\n  ")));
    let all: String = nested.collect();
    let loaded = Airflow::on("sqlite://").python("testdata/output/load_yaml.py", &[], &all).expect_success();
    serde_json::from_str(&loaded).unwrap()
}
