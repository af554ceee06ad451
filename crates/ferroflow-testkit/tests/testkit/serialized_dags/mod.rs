//! Serialized DAGs mean to us what they mean to Airflow: it serializes every example DAG that it and its
//! providers bring, and DAGs of our own for what those leave out, and tells what it reads back.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod facts;

use std::collections::BTreeSet;

use ferroflow_model::dag::Dag;
use ferroflow_testkit::{Airflow, repository};
use serde_json::Value;

const SCRIPT: &str = "testdata/serialized/serialize.py";

#[test]
fn every_example_dag_means_what_airflow_says() {
    let compared = compare(&airflow());
    println!("{} DAGs and documents were compared", compared.len());
    let examples = compared.iter().filter(|source| source.contains("example_dags")).count();
    assert!(examples > 60, "only {examples} example DAGs were compared");
}

/// With an installation's own defaults, documents leave out what equals those.
#[test]
fn defaults_of_the_installation_count() {
    let airflow = airflow()
        .with("AIRFLOW__OPERATORS__DEFAULT_OWNER", "the team")
        .with("AIRFLOW__OPERATORS__DEFAULT_QUEUE", "the queue")
        .with("AIRFLOW__CORE__DEFAULT_TASK_RETRIES", "3")
        .with("AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY", "61")
        .with("AIRFLOW__CORE__DEFAULT_TASK_WEIGHT_RULE", "upstream")
        .with("AIRFLOW__CORE__DEFAULT_TASK_EXECUTION_TIMEOUT", "77");
    assert!(compare(&airflow).len() > 60);
}

fn airflow() -> Airflow {
    // The examples bring plugins, which are there only if the examples are.
    Airflow::on("sqlite:////nowhere/airflow.db").with("AIRFLOW__CORE__LOAD_EXAMPLES", "True")
}

/// Compares every document with what Airflow says of it. Answers where they came from.
fn compare(airflow: &Airflow) -> Vec<String> {
    let folder = repository("testdata/serialized");
    let mut arguments = vec![folder.join("dags")];
    let documents = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    arguments.extend(documents.filter(|path| path.extension().is_some_and(|extension| extension == "json")));
    arguments.sort();
    let arguments: Vec<&str> = arguments.iter().map(|path| path.to_str().unwrap()).collect();
    let output = airflow.python(SCRIPT, &arguments, "").expect_success();
    let mut compared = Vec::new();
    let mut differences = Vec::new();
    for line in output.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let source = line["source"].as_str().unwrap();
        assert!(line["error"].is_null(), "{source}: {}", line["error"]);
        let found = match Dag::decode(line["document"].as_str().unwrap()) {
            Ok(dag) => differences_of(&facts::of(&dag), &line["facts"]),
            Err(problems) => vec![problems.to_string()],
        };
        let dag_id = &line["facts"]["dag"]["dag_id"];
        differences.extend(found.into_iter().map(|difference| format!("{source} {dag_id}: {difference}")));
        compared.push(source.to_owned());
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
    compared
}

/// Each place where two values differ.
fn differences_of(ours: &Value, theirs: &Value) -> Vec<String> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            let missing = Value::from("(missing)");
            keys.into_iter()
                .flat_map(|key| {
                    let ours = ours.get(key).unwrap_or(&missing);
                    let theirs = theirs.get(key).unwrap_or(&missing);
                    differences_of(ours, theirs).into_iter().map(move |found| format!("{key}.{found}"))
                })
                .collect()
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => ours
            .iter()
            .zip(theirs)
            .enumerate()
            .flat_map(|(index, (ours, theirs))| {
                differences_of(ours, theirs).into_iter().map(move |found| format!("{index}.{found}"))
            })
            .collect(),
        _ if ours == theirs => Vec::new(),
        _ => vec![format!(" ours is {ours}, theirs is {theirs}")],
    }
}

#[test]
fn differences_are_found() {
    let ours = serde_json::json!({"a": [1, {"b": 2}], "c": 1});
    let theirs = serde_json::json!({"a": [1, {"b": 3}], "d": 1});
    assert_eq!(differences_of(&ours, &theirs).len(), 3);
    assert_eq!(differences_of(&ours, &ours), Vec::<String>::new());
}
