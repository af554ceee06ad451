//! `ferroflow timetable preview`: what it says about runs near a change of the clocks.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use ferroflow_testkit::{Finished, Program};
use serde_json::{Value, json};

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}

/// The times and notes of a schedule in a zone.
fn notes(zone: &str, arguments: &[&str]) -> Vec<(String, String)> {
    let options = ["timetable", "preview", "--timezone", zone, "-o", "json"];
    times_and_notes(ferroflow().run(&[&options, arguments].concat()))
}

fn times_and_notes(finished: Finished) -> Vec<(String, String)> {
    let runs: Vec<Value> = serde_json::from_str(&finished.expect_success()).unwrap();
    let text = |run: &Value, name: &str| run[name].as_str().unwrap_or("").to_owned();
    runs.iter().map(|run| (text(run, "run_after"), text(run, "note"))).collect()
}

fn assert_notes(zone: &str, arguments: &[&str], expected: &[(&str, &str)]) {
    let expected: Vec<(String, String)> =
        expected.iter().map(|(time, note)| ((*time).to_owned(), (*note).to_owned())).collect();
    assert_eq!(notes(zone, arguments), expected, "{arguments:?} in {zone}");
}

/// Samoa and Tokelau moved across the date line: there was no 30 December 2011.
#[test]
fn a_day_that_is_skipped_is_told() {
    let note = "clocks go forward 24 h on Fri 2011-12-30 00:00; Fri 2011-12-30 06:00 does not exist: its run and that \
                of Sat 2011-12-31 06:00 are one";
    for (zone, offset) in [("Pacific/Apia", "+14:00"), ("Pacific/Fakaofo", "+13:00")] {
        let times = [format!("2011-12-31T06:00:00{offset}"), format!("2012-01-01T06:00:00{offset}")];
        let expected = [(times[0].as_str(), note), (times[1].as_str(), "")];
        assert_notes(zone, &["0 6 * * *", "--from", "2011-12-29T07:00", "-n", "2"], &expected);
        let intervals = ["0 6 * * *", "--data-intervals", "--from", "2011-12-28T07:00", "-n", "2"];
        assert_notes(zone, &intervals, &expected);
    }
    let week = ["P7D", "--from", "2011-12-23T06:00", "-n", "2"];
    let moved = "clocks go forward 24 h on Fri 2011-12-30 00:00; moves from Fri 2011-12-30 06:00 to Sat 2011-12-31 \
                 06:00 by the clock";
    let expected = [("2011-12-23T06:00:00-10:00", ""), ("2011-12-31T06:00:00+14:00", moved)];
    assert_notes("Pacific/Apia", &week, &expected);
    assert_eq!(
        notes("Pacific/Apia", &["P1D", "--from", "2011-12-29", "-n", "2"])[1].1.matches(';').count(),
        0
    );
}

#[test]
fn a_time_that_moves_to_the_next_day_is_told_with_its_day() {
    let note = "clocks go forward 1 h on Sat 2024-03-30 23:00; Sat 2024-03-30 23:30 does not exist: runs at Sun \
                2024-03-31 00:30";
    let arguments = ["30 23 * * *", "--from", "2024-03-30", "-n", "1"];
    assert_notes("America/Nuuk", &arguments, &[("2024-03-31T00:30:00-01:00", note)]);
}

#[test]
fn an_interval_that_starts_behind_a_gap_is_shorter() {
    let short = "its data interval is 1 h shorter";
    let skipped =
        "clocks go forward 1 h on Sun 2026-03-08 02:00; 02:00 does not exist on that day: runs at 03:00";
    assert_notes(
        "America/New_York",
        &["0 2 * * *", "--data-intervals", "--from", "2026-03-07", "-n", "3"],
        &[
            ("2026-03-08T03:00:00-04:00", skipped),
            ("2026-03-09T02:00:00-04:00", short),
            ("2026-03-10T02:00:00-04:00", ""),
        ],
    );
    let beirut =
        notes("Asia/Beirut", &["0 0 * * *", "--data-intervals", "--from", "2026-03-27T01:00", "-n", "2"]);
    assert_eq!(beirut[1], ("2026-03-30T00:00:00+03:00".to_owned(), short.to_owned()));
}

#[test]
fn times_that_have_no_run_are_told() {
    let forward = "clocks go forward 1 h on Sun 2026-03-08 02:00";
    let first = |arguments: &[&str]| {
        let from = ["--from", "2026-03-08", "-n", "2"];
        notes("America/New_York", &[arguments, &from].concat()).remove(0)
    };
    let note = format!(
        "{forward}; 02:00 does not exist on that day: runs at 03:00; 02:01 to 02:59, 59 times, have no run on that day"
    );
    assert_eq!(first(&["* 2 * * *"]), ("2026-03-08T03:00:00-04:00".to_owned(), note));
    let note = format!("{forward}; 02:30 has no run on that day");
    assert_eq!(first(&["30 2 * * *", "0 3 * * *"]), ("2026-03-08T03:00:00-04:00".to_owned(), note));
    // Here the hour that comes twice brings it back.
    let troll = notes("Antarctica/Troll", &["40 * * * *", "10 2 * * *", "--from", "2026-10-25T02:20+02:00"]);
    let times: Vec<&str> = troll.iter().map(|(time, _)| &time[11..]).take(3).collect();
    assert_eq!(times, ["02:40:00+02:00", "01:40:00+00:00", "02:10:00+00:00"]);
    assert!(troll.iter().all(|(_, note)| !note.contains("no run")), "{troll:?}");
}

/// Airflow looks back from the end of an interval to find the start of the next one.
#[test]
fn time_in_no_data_interval_or_in_two_is_told() {
    let holes = ["*/20 1-3 * * *", "--data-intervals", "--from", "2026-03-08T01:30", "-n", "2"];
    let merged = "clocks go forward 1 h on Sun 2026-03-08 02:00; 02:00 does not exist on that day: its run and that of \
                  03:00 are one; 02:20 to 02:40, 2 times, have no run on that day";
    let hole = "Sun 2026-03-08 03:00 to 03:40 is in no data interval";
    let expected = [("2026-03-08T03:00:00-04:00", merged), ("2026-03-09T01:00:00-04:00", hole)];
    assert_notes("America/New_York", &holes, &expected);
    let overlap = ["15 * * * *", "--data-intervals", "--from", "2018-05-04T22:15", "-n", "3"];
    let notes = notes("Asia/Pyongyang", &overlap);
    assert_eq!(
        notes[2],
        ("2018-05-05T01:15:00+09:00".to_owned(), "00:15 to 00:45 is in two data intervals".to_owned())
    );
}

#[test]
fn a_step_of_any_length_moves_by_the_clock() {
    let forward = "clocks go forward 1 h on Sun 2026-03-08 02:00";
    for (step, from, time, moved) in [
        ("PT12H", "2026-03-08", "13:00", "; moves from 12:00 to 13:00 by the clock"),
        ("PT90M", "2026-03-08T01:00", "03:30", "; moves from 02:30 to 03:30 by the clock"),
        ("PT1H", "2026-03-08T01:00", "03:00", ""),
        ("PT30M", "2026-03-08T01:30", "03:00", ""),
    ] {
        let notes = notes("America/New_York", &[step, "--from", from, "-n", "2"]);
        let expected = (format!("2026-03-08T{time}:00-04:00"), format!("{forward}{moved}"));
        assert_eq!(notes[1], expected, "{step}");
    }
}

#[test]
fn clocks_that_are_not_shown_are_named() {
    let noted = |expression: &str, from: &str| {
        let timetable = json!({
            "__type": "airflow.timetables.trigger.CronTriggerTimetable",
            "__var": {
                "expression": expression, "timezone": "America/New_York", "interval": 0.0, "run_immediately": false,
            },
        });
        let arguments = ["timetable", "preview", "--file", "-", "--timezone", "Asia/Tokyo", "--from", from];
        let arguments = [&arguments[..], &["-n", "2", "-o", "json"]].concat();
        times_and_notes(ferroflow().run_with_input(&arguments, &timetable.to_string()))
    };
    let (zone, back) = ("America/New_York", "clocks in America/New_York go back 1 h on Sun 2026-11-01 02:00");
    let twice = format!("in {zone} Sun 2026-11-01 01:00 comes twice");
    let expected = [
        ("2026-11-01T14:00:00+09:00".to_owned(), format!("{twice}: this is the first")),
        ("2026-11-01T15:00:00+09:00".to_owned(), format!("{back}; {twice}: this is the second")),
    ];
    assert_eq!(noted("0 * * * *", "2026-11-01T13:30"), expected);
    let note = format!(
        "clocks in {zone} go forward 1 h on Sun 2026-03-08 02:00; in {zone} Sun 2026-03-08 02:00 does not exist: runs \
         at 03:00; in {zone} Sun 2026-03-08 02:30 has no run"
    );
    assert_eq!(noted("0,30 2 * * *", "2026-03-08")[0], ("2026-03-08T16:00:00+09:00".to_owned(), note));
}
