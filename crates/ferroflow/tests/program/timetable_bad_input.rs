//! What can be wrong with a schedule is answered with its place and the reason.

use ferroflow_testkit::{Finished, Program};
use serde_json::{Value, json};

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}

fn preview(arguments: &[&str]) -> Finished {
    ferroflow().run(&[&["timetable", "preview"], arguments].concat())
}

fn preview_of(document: &Value) -> Finished {
    ferroflow().run_with_input(&["timetable", "preview", "--file", "-"], &document.to_string())
}

/// It failed with the status, in one line that holds all of these.
fn assert_refused(finished: &Finished, expected: &[&str]) {
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
    assert_eq!(finished.stderr.trim_end().lines().count(), 1, "{}", finished.stderr);
    for part in expected {
        assert!(finished.stderr.contains(part), "{part:?} is not in: {}", finished.stderr);
    }
}

#[test]
fn a_bad_schedule_is_answered_with_the_field_and_the_reason() {
    for (schedule, expected) in [
        (&["61 * * * *"][..], &["\"61 * * * *\" cannot be read: minute \"61\": 61 is outside 0-59"][..]),
        (&["0 6 * * MON-FRX"], &["day of week \"mon-frx\"", "\"frx\" is not a number, a name (sun to sat)"]),
        (&["0 6 31 13 *"], &["month \"13\": 13 is outside 1-12"]),
        (&["0 6 * * * 77"], &["second \"77\"", "day of week, second"]),
        (&["0 6 * *"], &["this has 4"]),
        (&["1 day"], &["P1D"]),
        (&["@dayly"], &["there is no such preset", "@daily"]),
        (&["P1X"], &["\"P1X\" cannot be read", "ISO 8601"]),
        (&["PT0S"], &["\"PT0S\" cannot be used", "must be positive"]),
        (&["0", "6", "*", "*", "MON-FRI"], &["\"0 6 * * MON-FRI\" came as 5 schedules", "quotes"]),
        (&["0 6 * * *", "61 * * * *"], &["\"61 * * * *\"", "minute"]),
        (&["0 6 * * *", "P1D"], &["\"P1D\"", "only cron expressions can be combined"]),
        (
            &["0 6 * * *", "0 7 * * *", "--data-intervals"],
            &["--data-intervals", "MultipleCronTriggerTimetable"],
        ),
        (&["@daily", "--timezone", "Mars/Olympus"], &["--timezone: \"Mars/Olympus\""]),
        (&["@daily", "--timezone", "-25:00"], &["--timezone: \"-25:00\""]),
        (&["@daily", "--from", "yesterday"], &["--from: \"yesterday\"", "2026-03-01"]),
        (&["@daily", "--until", "2026-02-30"], &["--until: \"2026-02-30\" is no date", "no such day"]),
        (&["@daily", "--from", "2026-13-01T06:00"], &["no such day"]),
        (&["@daily", "--from=-009999-01-01"], &["--from: \"-009999-01-01\"", "the years 1 to 9999"]),
        (&["@daily", "--until=+012026-01-01"], &["--until", "the years 1 to 9999"]),
        (&["@daily", "--from", "0001-01-01T00:00+09:00"], &["the years 1 to 9999"]),
        (
            &["@daily", "--from", "2026-03-01T06:00[Asia/Tokyo]", "--timezone", "UTC"],
            &["--from: \"2026-03-01T06:00[Asia/Tokyo]\"", "--timezone", "2026-03-01T06:00+09:00"],
        ),
    ] {
        assert_refused(&preview(schedule), expected);
    }
    assert_refused(&preview(&["--", "-P1D"]), &["\"-P1D\" cannot be used", "must be positive"]);
}

#[test]
fn a_bad_file_is_answered_with_the_place_and_the_reason() {
    let timetable = json!({
        "__type": "airflow.timetables.trigger.CronTriggerTimetable",
        "__var": {"expression": "61 * * * *", "timezone": "UTC", "interval": 0.0, "run_immediately": false},
    });
    let nonsense = json!({"__type": "airflow.timetables.simple.Sometimes", "__var": {}});
    for (document, expected) in [
        (timetable.clone(), &["standard input", "expression: minute \"61\": 61 is outside 0-59"][..]),
        (json!({"dag": {"timetable": timetable}}), &["dag.timetable.expression: minute"]),
        (nonsense, &["airflow.timetables.simple.Sometimes is not a timetable of Airflow 3.3.2"]),
        (json!({"dag": {"timetable": "@daily"}}), &["dag.timetable: expected an object"]),
        (json!({"dag": {"dag_id": "sales"}}), &["dag: there is no timetable"]),
        (json!({"timetable": {"__var": {}}}), &["timetable.__type: is missing"]),
        (json!({"dag": {"dag": {"timetable": {}}}}), &["dag: there is no timetable"]),
        (json!([]), &["expected an object"]),
    ] {
        assert_refused(&preview_of(&document), expected);
    }
    let not_json = ferroflow().run_with_input(&["timetable", "preview", "--file", "-"], "{\"dag\": ");
    assert_refused(&not_json, &["standard input", "JSON", "line 1 column 8"]);
    assert_refused(&preview(&["--file", "/no/such/file"]), &["/no/such/file"]);
    let zero =
        json!({"__type": "airflow.timetables.interval.DeltaDataIntervalTimetable", "__var": {"delta": 0}});
    assert_refused(&preview_of(&zero), &["the timetable in standard input", "must be positive"]);
    let twice = json!({"__type": "airflow.timetables.interval.CronDataIntervalTimetable", "__var": {}});
    let finished = preview_of(&json!({"timetable": twice}));
    for part in ["\n  timetable.expression: is missing", "\n  timetable.timezone: is missing"] {
        assert!(finished.code == Some(1) && finished.stderr.contains(part), "{}", finished.stderr);
    }
}

/// What a document says is shown in one line, and does nothing to a terminal.
#[test]
fn a_document_has_no_hold_on_the_terminal() {
    let harmful = "s\u{1b}]0;title\u{7}\nb\u{9b}c\u{202e}";
    let events = json!({
        "__type": "airflow.timetables.events.EventsTimetable",
        "__var": {
            "event_dates": ["2099-03-01T00:00:00+00:00"], "restrict_to_events": false,
            "_summary": harmful, "description": harmful,
        },
    });
    let own = json!({"__type": format!("plugins.{harmful}"), "__var": {}});
    let unknown = json!({"__type": format!("airflow.timetables.{harmful}"), "__var": {}});
    for (document, code, lines) in [(&events, 0, 10), (&own, 0, 5), (&unknown, 1, 1)] {
        for format in ["table", "plain", "json", "yaml"] {
            let arguments = ["timetable", "preview", "--file", "-", "--timezone", "UTC", "-o", format];
            let finished = ferroflow().run_with_input(&arguments, &document.to_string());
            assert_eq!(finished.code, Some(code), "{finished:?}");
            let shown = format!("{}{}", finished.stdout, finished.stderr);
            let is_harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
            assert!(shown.chars().all(is_harmless), "{shown:?}");
            assert!(!shown.contains("\nb"), "{shown:?}");
            if format == "table" {
                assert_eq!(shown.lines().count(), lines, "{shown}");
                assert!(shown.contains("s ]0;title  b c"), "{shown}");
            }
        }
    }
}

#[test]
fn a_command_that_makes_no_sense_is_refused() {
    for arguments in [
        &[][..],
        &["@daily", "--file", "sales.json"],
        &["--file", "sales.json", "--data-intervals"],
        &["@daily", "--count", "0"],
        &["@daily", "--count", "100001"],
        &["@daily", "-o", "xml"],
    ] {
        let finished = preview(arguments);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(finished.stderr.contains("--help"), "{}", finished.stderr);
    }
}

#[test]
fn a_bad_configuration_is_answered_with_its_place() {
    let preview = |variable: &str, value: &str| {
        ferroflow().with(variable, value).run(&["timetable", "preview", "@daily"])
    };
    let (zone, intervals) =
        ("AIRFLOW__CORE__DEFAULT_TIMEZONE", "AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS");
    assert_refused(&preview(zone, "system"), &[zone, "--timezone"]);
    assert_refused(&preview(zone, "Mars/Olympus"), &[zone, "\"Mars/Olympus\""]);
    assert_refused(&preview(intervals, "maybe"), &[intervals, "\"maybe\"", "true or false"]);
}
