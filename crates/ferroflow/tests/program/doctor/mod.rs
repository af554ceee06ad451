//! `ferroflow doctor` on sites that are ready, and on sites that are not.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod configuration;
mod dag_files;
mod databases;
mod plugins;

use ferroflow_testkit::dag_processing::Place;
use serde_json::Value;

const FERROFLOW: &str = env!("CARGO_BIN_EXE_ferroflow");

/// Its exit code and what it prints.
fn asked(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let mut asked = place.start(FERROFLOW, &[&["doctor"], arguments].concat());
    (asked.wait_for_end(240), asked.log())
}

/// The findings as `level topic: text`, and the exit code.
fn findings(place: &Place, arguments: &[&str]) -> (Option<i32>, Vec<String>) {
    let (code, text) = asked(place, &[arguments, &["-o", "json"]].concat());
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let finding = |found: &Value| {
        let part = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {} | {}", part("level"), part("topic"), part("text"), part("place"))
    };
    assert_eq!(answer["ready"], code == Some(0), "{text}");
    (code, answer["findings"].as_array().unwrap().iter().map(finding).collect())
}

/// Whether there is a finding that begins so and has these words in it.
fn is_there(findings: &[String], begins: &str, words: &[&str]) -> bool {
    findings.iter().any(|found| found.starts_with(begins) && words.iter().all(|word| found.contains(word)))
}
