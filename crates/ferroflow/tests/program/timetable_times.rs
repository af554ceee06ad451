//! `ferroflow timetable preview`: how times are read and written.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use ferroflow_testkit::{Finished, Program};
use serde_json::Value;

const NEW_YORK: [&str; 6] = ["timetable", "preview", "--timezone", "America/New_York", "-o", "json"];

fn preview(arguments: &[&str]) -> Finished {
    Program::new(env!("CARGO_BIN_EXE_ferroflow")).run(&[&NEW_YORK, arguments].concat())
}

fn first(finished: &Finished, name: &str) -> String {
    let runs: Vec<Value> = serde_json::from_str(&finished.stdout).unwrap();
    runs[0][name].as_str().unwrap().to_owned()
}

#[test]
fn a_time_that_the_clocks_skip_or_show_twice_is_told() {
    for (option, time, expected) in [
        (
            "--from",
            "2026-03-08T02:30",
            "--from: 2026-03-08 02:30 does not exist in America/New_York, the clocks skip it: 2026-03-08 03:30 is \
             taken\n",
        ),
        (
            "--from",
            "2026-11-01T01:30:30",
            "--from: 2026-11-01 01:30:30 comes twice in America/New_York: the second is taken; the first is \
             2026-11-01T01:30:30-04:00\n",
        ),
        ("--from", "2026-11-01T01:30-04:00", ""),
        ("--from", "2026-11-01", ""),
        (
            "--until",
            "2099-03-08T02:30",
            "--until: 2099-03-08 02:30 does not exist in America/New_York, the clocks skip it: 2099-03-08 03:30 is \
             taken\n",
        ),
    ] {
        let finished = preview(&["PT1H", option, time, "-n", "1"]);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), expected), "{finished:?}");
    }
}

#[test]
fn times_have_microseconds_as_python_writes_them() {
    let exact = preview(&["PT1H", "--data-intervals", "--from", "2026-03-01T06:00:00.5Z", "-n", "1"]);
    assert_eq!(
        (first(&exact, "run_after_utc").as_str(), exact.stderr.as_str()),
        ("2026-03-01T07:00:00.500000+00:00", "")
    );
    let cut = preview(&["PT1H", "--data-intervals", "--from", "2026-03-01T06:00:00.123456789Z", "-n", "1"]);
    assert_eq!(first(&cut, "data_interval_start"), "2026-03-01T01:00:00.123456-05:00");
    assert_eq!(first(&cut, "data_interval_end"), "2026-03-01T02:00:00.123456-05:00");
    let told =
        "--from: 2026-03-01T06:00:00.123456789Z is cut off at the microsecond, as times are in Airflow\n";
    assert_eq!(cut.stderr, told);
    // An offset with seconds.
    let long_ago = preview(&["PT1H", "--from", "1850-01-01", "-n", "1"]);
    assert_eq!(first(&long_ago, "run_after"), "1850-01-01T00:00:00-04:56:02");
}

#[test]
fn the_last_day_of_the_calendar_is_for_ever() {
    for until in ["9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-12:00"] {
        let finished = preview(&["@daily", "--from", "2026-03-01", "--until", until, "-n", "1"]);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
        assert_eq!(first(&finished, "run_after"), "2026-03-01T00:00:00-05:00");
    }
    let finished = preview(&["@daily", "--from=9999-12-31", "-n", "1"]);
    assert!(
        finished.code == Some(1) && finished.stderr.contains("--from: \"9999-12-31\" is too late"),
        "{finished:?}"
    );
}
