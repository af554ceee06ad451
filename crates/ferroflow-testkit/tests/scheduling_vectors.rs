//! What Airflow's scheduler was seen to decide, asked of ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::Write as _;
use std::process::Command;

use ferroflow_testkit::replay::replay_scheduling;
use ferroflow_testkit::repository;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

/// Changes a history, of which this is a run.
type Damage = fn(&mut Value, &str);

const FILE: &str = "testdata/scheduling/scheduling.jsonl.gz";

#[test]
fn runs_are_decided_as_airflow_decides_them() {
    let report = replay_scheduling(&repository(FILE)).unwrap();
    assert!(report.passed(), "{report}");
    let at_least = [("histories", 1500), ("mapped_group", 350), ("clear", 300), ("deadlock", 100)];
    for (kind, count) in at_least {
        assert!(report.total(kind) >= count, "there are {} histories of {kind}", report.total(kind));
    }
}

#[test]
fn the_tool_shows_where_a_history_goes_another_way() {
    let mut history = first_history();
    let (code, told) = tool(&history);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("histories        1 of 1\n"), "{told}");

    history["ticks"][0]["decisions"][0][4] = json!("skipped");
    let (code, told) = tool(&history);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("histories        0 of 1\n"), "{told}");
    assert!(told.contains("tick 0: decisions differ\n    expected ("), "{told}");
    assert!(told.contains("all_success] <- nothing\n"), "the DAG is drawn: {told}");

    let (code, told) = tool(&json!({"id": "no history"}));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("line 1 of ") && told.contains("missing field"), "{told}");
}

#[test]
fn every_part_of_a_history_is_compared() {
    let history = first_history();
    let run_id = history["runs"][0]["run_id"].as_str().unwrap().to_owned();
    let broken: [(&str, Damage); 5] = [
        ("the first instances differ", |history, _| {
            history["initial_tis"].as_array_mut().unwrap().pop();
        }),
        ("states of runs differ", |history, run| history["ticks"][0]["run_states"][run] = json!("failed")),
        ("final states of", |history, run| {
            let states = history["final"]["ti_states"][run].as_object_mut().unwrap();
            *states.values_mut().next().unwrap() = json!("removed");
        }),
        ("tries of", |history, run| {
            let tries = history["final"]["try_numbers"][run].as_object_mut().unwrap();
            *tries.values_mut().next().unwrap() = json!(77);
        }),
        ("ended as", |history, run| history["final"]["run_states"][run] = json!("queued")),
    ];
    for (difference, change) in broken {
        let mut history = history.clone();
        change(&mut history, &run_id);
        let (code, told) = tool(&history);
        assert_eq!(code, Some(1), "{difference}");
        assert!(told.contains(difference), "{difference}: {told}");
    }
}

fn first_history() -> Value {
    let file = std::fs::File::open(repository(FILE)).unwrap();
    let text = std::io::read_to_string(MultiGzDecoder::new(file)).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

fn tool(history: &Value) -> (Option<i32>, String) {
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    writeln!(file, "{history}").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    let output = command.arg("scheduling").arg(file.path()).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(told).unwrap())
}
