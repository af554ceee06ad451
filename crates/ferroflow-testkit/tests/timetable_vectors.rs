//! What Airflow's timetables and croniter were seen to answer, asked of ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::process::Command;

use ferroflow_testkit::replay::{Report, replay_timetables};
use ferroflow_testkit::repository;
use serde_json::json;

/// Replays a file, of which every record must pass, and that must not have shrunk.
fn assert_passes(file: &str, at_least: &[(&str, usize)]) {
    let report: Report = replay_timetables(&repository("testdata/timetables").join(file)).unwrap();
    assert!(report.passed(), "{file}:\n{report}");
    for (kind, count) in at_least {
        assert!(report.total(kind) >= *count, "{file} has {} records of {kind}", report.total(kind));
    }
}

#[test]
fn timetables_answer_what_airflow_s_answer() {
    assert_passes(
        "timetables.json.gz",
        &[
            ("next", 6000),
            ("manual", 1500),
            ("backfill", 250),
            ("partition_date", 250),
            ("cron", 1500),
            ("run_id", 60),
            ("describe", 1500),
        ],
    );
}

#[test]
fn cron_expressions_mean_what_croniter_makes_of_them() {
    assert_passes("cron-syntax.json", &[("cron-syntax", 150)]);
}

#[test]
fn every_zone_and_every_option_is_answered_as_airflow_answers() {
    assert_passes(
        "more-timetables.json.gz",
        &[
            ("next", 2000),
            ("manual", 700),
            ("backfill", 400),
            ("partition_date", 150),
            ("localize", 600),
            ("cron", 700),
            ("syntax", 500),
            ("run_id", 150),
            ("describe", 500),
            ("validate", 100),
        ],
    );
}

#[test]
fn the_tool_tells_a_right_answer_from_a_wrong_one() {
    let once = json!({"__type": "airflow.timetables.simple.OnceTimetable", "__var": {}});
    let asked = "2024-03-10T07:30:00Z";
    let record = |answer: &str| json!({"tt": once, "run_after": asked, "x": {"s": answer, "e": answer}});

    let (code, told) = replay(&json!({"meta": {}, "manual": [record(asked)]}));
    assert_eq!((code, told.as_str()), (Some(0), "manual           1 of 1\n"));

    let altered = "2024-03-10T07:30:00.000001Z";
    let (code, told) = replay(&json!({"manual": [record(asked), record(altered)]}));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("manual           1 of 2\n"), "{told}");
    let interval = |at: &str| json!({"s": at, "e": at});
    let difference = format!("manual: {}, expected {}\n", interval(asked), interval(altered));
    assert!(told.contains(&difference), "{told}");
}

/// The exit status of the tool and what it says of some vectors.
fn replay(vectors: &serde_json::Value) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vectors.json");
    std::fs::write(&file, vectors.to_string()).unwrap();
    let tool = Command::new(env!("CARGO_BIN_EXE_replay")).arg("timetables").arg(file).output().unwrap();
    (tool.status.code(), String::from_utf8(tool.stdout).unwrap())
}
