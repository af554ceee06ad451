//! `ferroflow timetable preview`: what it prints, and what it says when it cannot.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::process::Stdio;

use ferroflow_testkit::{Airflow, Finished, Program};
use serde_json::{Value, json};

fn ferroflow() -> Program {
    Program::new(env!("CARGO_BIN_EXE_ferroflow"))
}

fn preview(arguments: &[&str]) -> Finished {
    ferroflow().run(&[&["timetable", "preview"], arguments].concat())
}

fn preview_of(document: &Value, arguments: &[&str]) -> Finished {
    let arguments = [&["timetable", "preview", "--file", "-"], arguments].concat();
    ferroflow().run_with_input(&arguments, &document.to_string())
}

fn runs(finished: Finished) -> Vec<Value> {
    serde_json::from_str(&finished.expect_success()).unwrap()
}

fn column<'r>(runs: &'r [Value], name: &str) -> Vec<&'r str> {
    runs.iter().map(|run| run[name].as_str().unwrap_or("null")).collect()
}

/// The times and notes of a schedule in New York.
fn times_and_notes(arguments: &[&str]) -> Vec<(String, String)> {
    let new_york = ["--timezone", "America/New_York", "-o", "json"];
    let runs = runs(preview(&[arguments, &new_york].concat()));
    let text = |run: &Value, name: &str| run[name].as_str().unwrap_or("").to_owned();
    runs.iter().map(|run| (text(run, "run_after"), text(run, "note"))).collect()
}

const WEEKDAYS: [&str; 7] =
    ["0 6 * * MON-FRI", "--timezone", "America/New_York", "--from", "2026-03-05", "--count", "4"];

#[test]
fn a_table_tells_of_the_clocks_that_go_forward() {
    let table = preview(&WEEKDAYS).expect_success();
    let expected = "\
schedule   0 6 * * MON-FRI
in words   At 06:00, Monday through Friday
timetable  CronTriggerTimetable
timezone   America/New_York

run | run_after                   | run_after_utc    | data_interval_start     | data_interval_end       | note
====+=============================+==================+=========================+=========================+==============================================
1   | Thu 2026-03-05 06:00 -05:00 | 2026-03-05 11:00 | 2026-03-05 06:00 -05:00 | 2026-03-05 06:00 -05:00 |
2   | Fri 2026-03-06 06:00 -05:00 | 2026-03-06 11:00 | 2026-03-06 06:00 -05:00 | 2026-03-06 06:00 -05:00 |
3   | Mon 2026-03-09 06:00 -04:00 | 2026-03-09 10:00 | 2026-03-09 06:00 -04:00 | 2026-03-09 06:00 -04:00 | clocks go forward 1 h on Sun 2026-03-08 02:00
4   | Tue 2026-03-10 06:00 -04:00 | 2026-03-10 10:00 | 2026-03-10 06:00 -04:00 | 2026-03-10 06:00 -04:00 |
";
    assert_eq!(table, expected);
}

#[test]
fn ten_runs_are_listed_unless_asked_otherwise() {
    let runs = runs(preview(&["@daily", "--timezone", "UTC", "--from", "2026-03-01", "-o", "json"]));
    assert_eq!(column(&runs, "run").last(), Some(&"10"));
}

#[test]
fn json_has_every_field_of_a_run() {
    let arguments = [&WEEKDAYS[..], &["--data-intervals", "-o", "json"]].concat();
    let finished = preview(&arguments);
    assert_eq!(finished.stdout.lines().count(), 1, "it is one line");
    let expected = json!({
        "run": "2",
        "run_after": "2026-03-09T06:00:00-04:00",
        "run_after_utc": "2026-03-09T10:00:00+00:00",
        "data_interval_start": "2026-03-06T06:00:00-05:00",
        "data_interval_end": "2026-03-09T06:00:00-04:00",
        "partition_key": null,
        "note": "clocks go forward 1 h on Sun 2026-03-08 02:00; its data interval is 1 h shorter",
    });
    assert_eq!(runs(finished)[1], expected);
}

#[test]
fn yaml_says_what_json_says() {
    let yaml = preview(&[&WEEKDAYS[..], &["-o", "yaml"]].concat()).expect_success();
    assert!(yaml.starts_with("- data_interval_end: '2026-03-05T06:00:00-05:00'\n"), "{yaml}");
    let loaded = Airflow::on("sqlite://").python("testdata/output/load_yaml.py", &[], &yaml).expect_success();
    let loaded: Vec<Value> = serde_json::from_str(&loaded).unwrap();
    assert_eq!(loaded, runs(preview(&[&WEEKDAYS[..], &["-o", "json"]].concat())));
}

#[test]
fn plain_columns_can_be_cut() {
    let plain = preview(&["PT90M", "--timezone", "UTC", "--from", "2026-03-01", "-n", "2", "-o", "plain"]);
    let expected = "  \
  run  run_after                  run_after_utc              data_interval_start        data_interval_end
    1  2026-03-01T00:00:00+00:00  2026-03-01T00:00:00+00:00  2026-03-01T00:00:00+00:00  2026-03-01T00:00:00+00:00
    2  2026-03-01T01:30:00+00:00  2026-03-01T01:30:00+00:00  2026-03-01T01:30:00+00:00  2026-03-01T01:30:00+00:00
";
    assert_eq!(plain.expect_success(), expected);
}

#[test]
fn a_time_that_is_skipped_is_told() {
    let (forward, from) = ("clocks go forward 1 h on Sun 2026-03-08 02:00", "2026-03-07T02:31");
    let one = times_and_notes(&["30 2 * * *", "--from", from, "-n", "2"]);
    let expected = format!("{forward}; 02:30 does not exist on that day: runs at 03:30");
    assert_eq!(one[0], ("2026-03-08T03:30:00-04:00".to_owned(), expected));
    assert_eq!(one[1], ("2026-03-09T02:30:00-04:00".to_owned(), String::new()));

    let two = times_and_notes(&["30 2,3 * * *", "--from", "2026-03-08", "-n", "2"]);
    let expected = format!("{forward}; 02:30 does not exist on that day: its run and that of 03:30 are one");
    assert_eq!(two[0], ("2026-03-08T03:30:00-04:00".to_owned(), expected));
    assert_eq!(two[1].0, "2026-03-09T02:30:00-04:00");

    let hourly = times_and_notes(&["30 * * * *", "--from", "2026-03-08T01:00", "-n", "2"]);
    assert_eq!(hourly[1], ("2026-03-08T03:30:00-04:00".to_owned(), forward.to_owned()));
}

#[test]
fn a_time_that_comes_twice_is_told() {
    let back = "clocks go back 1 h on Sun 2026-11-01 02:00";
    let daily = times_and_notes(&["30 1 * * *", "--from", "2026-11-01", "-n", "1"]);
    let expected = format!("{back}; 01:30 comes twice on that day: runs at the second");
    assert_eq!(daily, [("2026-11-01T01:30:00-05:00".to_owned(), expected)]);

    let hourly = times_and_notes(&["30 * * * *", "--from", "2026-11-01", "-n", "4"]);
    let expected = [
        ("2026-11-01T00:30:00-04:00", String::new()),
        ("2026-11-01T01:30:00-04:00", "01:30 comes twice on that day: this is the first".to_owned()),
        ("2026-11-01T01:30:00-05:00", format!("{back}; 01:30 comes twice on that day: this is the second")),
        ("2026-11-01T02:30:00-05:00", String::new()),
    ];
    assert_eq!(hourly, expected.map(|(time, note)| (time.to_owned(), note)));

    let daily = times_and_notes(&["0 0 * * *", "--data-intervals", "--from", "2026-11-01", "-n", "1"]);
    let expected = format!("{back}; its data interval is 1 h longer");
    assert_eq!(daily, [("2026-11-02T00:00:00-05:00".to_owned(), expected)]);
}

/// On Lord Howe Island the clocks move by half an hour, and Airflow's hours go out of step with them for a while.
#[test]
fn clocks_that_move_by_half_an_hour_are_told() {
    let hourly = |from: &str| {
        let zone = ["--timezone", "Australia/Lord_Howe", "-n", "1", "-o", "json"];
        let runs = runs(preview(&[&["0 * * * *", "--from", from], &zone[..]].concat()));
        format!("{} {}", runs[0]["run_after"].as_str().unwrap(), runs[0]["note"].as_str().unwrap())
    };
    assert_eq!(
        hourly("2026-04-05T01:01"),
        "2026-04-05T01:30:00+10:30 clocks go back 30 min on Sun 2026-04-05 02:00; 01:30 is no time of the expression: \
         counted on from the run before the change"
    );
    assert_eq!(
        hourly("2026-10-04T01:01"),
        "2026-10-04T02:30:00+11:00 clocks go forward 30 min on Sun 2026-10-04 02:00; 02:00 does not exist on that \
         day: runs at 02:30"
    );
}

#[test]
fn a_step_of_time_moves_by_the_clock() {
    let steps = times_and_notes(&["P1D", "--from", "2026-03-07T06:00", "-n", "2"]);
    let note = "clocks go forward 1 h on Sun 2026-03-08 02:00; moves from 06:00 to 07:00 by the clock";
    assert_eq!(steps[1], ("2026-03-08T07:00:00-04:00".to_owned(), note.to_owned()));
}

#[test]
fn changes_of_several_years_are_counted() {
    let leap_days = times_and_notes(&["0 0 29 2 *", "--from", "2026-03-01", "-n", "1"]);
    assert_eq!(leap_days[0].1, "clocks change 4 times, the last time back 1 h on Sun 2027-11-07 02:00");
    let years = times_and_notes(&["@yearly", "--from", "2026-03-01", "-n", "1"]);
    let both = "clocks go forward 1 h on Sun 2026-03-08 02:00 and back 1 h on Sun 2026-11-01 02:00";
    assert_eq!(years[0].1, both);
}

#[test]
fn every_kind_of_schedule_is_read() {
    for (schedule, times) in [
        (&["0 6 * * * 30"][..], ["2026-01-31T06:00:30+05:30", "2026-02-01T06:00:30+05:30"]),
        (&["0 6 1 * * 0 2025-2027"], ["2026-02-01T06:00:00+05:30", "2026-03-01T06:00:00+05:30"]),
        (&["@hourly"], ["2026-01-31T00:00:00+05:30", "2026-01-31T01:00:00+05:30"]),
        (&["@quarterly"], ["2026-04-01T00:00:00+05:30", "2026-07-01T00:00:00+05:30"]),
        (&["@midnight"], ["2026-01-31T00:00:00+05:30", "2026-02-01T00:00:00+05:30"]),
        (&["P1D"], ["2026-01-31T00:00:00+05:30", "2026-02-01T00:00:00+05:30"]),
        (&["P1M"], ["2026-01-31T00:00:00+05:30", "2026-03-01T00:00:00+05:30"]),
        (&["0 6 * * *", "30 18 * * *"], ["2026-01-31T06:00:00+05:30", "2026-01-31T18:30:00+05:30"]),
        (&["@daily", "@hourly"], ["2026-01-31T00:00:00+05:30", "2026-01-31T01:00:00+05:30"]),
    ] {
        let options = ["--timezone", "+05:30", "--from", "2026-01-31", "-n", "2", "-o", "json"];
        let runs = runs(preview(&[schedule, &options].concat()));
        assert_eq!(column(&runs, "run_after"), times, "{schedule:?}");
    }
}

#[test]
fn data_intervals_are_as_configured_unless_asked_otherwise() {
    let timetable = |program: &Program, arguments: &[&str]| {
        let schedule = ["timetable", "preview", "--timezone", "UTC", "--from", "2026-01-01", "-n", "1"];
        let table = program.run(&[&schedule[..], arguments].concat()).expect_success();
        table.lines().find_map(|line| line.strip_prefix("timetable  ")).unwrap().to_owned()
    };
    let configured = ferroflow().with("AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS", "True");
    for (program, arguments, expected) in [
        (&ferroflow(), &["@daily"][..], "CronTriggerTimetable"),
        (&ferroflow(), &["P1D"], "DeltaTriggerTimetable"),
        (&ferroflow(), &["@daily", "--data-intervals"], "CronDataIntervalTimetable"),
        (&ferroflow(), &["P1D", "--data-intervals"], "DeltaDataIntervalTimetable"),
        (&configured, &["@daily"], "CronDataIntervalTimetable"),
        (&configured, &["P1D"], "DeltaDataIntervalTimetable"),
        (&configured, &["@daily", "--no-data-intervals"], "CronTriggerTimetable"),
        (&configured, &["@daily", "--data-intervals", "--no-data-intervals"], "CronTriggerTimetable"),
        (&configured, &["@daily", "--no-data-intervals", "--data-intervals"], "CronDataIntervalTimetable"),
        (&configured, &["@daily", "@hourly"], "MultipleCronTriggerTimetable"),
    ] {
        assert_eq!(timetable(program, arguments), expected, "{arguments:?}");
    }
}

#[test]
fn the_default_zone_is_the_configured_one() {
    let times = |zone: &str| {
        let program = ferroflow().with("AIRFLOW__CORE__DEFAULT_TIMEZONE", zone);
        program.run(&["timetable", "preview", "@daily", "--from", "2026-07-01", "-n", "1", "-o", "json"])
    };
    assert_eq!(column(&runs(times("Europe/Paris")), "run_after"), ["2026-07-01T00:00:00+02:00"]);
}

#[test]
fn a_serialized_timetable_is_read_wherever_it_stands() {
    let timetable = json!({
        "__type": "airflow.timetables.interval.CronDataIntervalTimetable",
        "__var": {"expression": "0 6 * * *", "timezone": "Europe/Paris"},
    });
    let dag = json!({"dag_id": "sales", "timetable": timetable, "tasks": []});
    let document = json!({"__version": 3, "dag": dag});
    for document in [&timetable, &dag, &document] {
        let arguments = ["--from", "2026-03-28", "-n", "1", "-o", "json"];
        let runs = runs(preview_of(document, &arguments));
        assert_eq!(runs[0]["data_interval_end"], "2026-03-29T06:00:00+02:00");
        assert_eq!(
            runs[0]["note"],
            "clocks go forward 1 h on Sun 2026-03-29 02:00; its data interval is 1 h shorter"
        );
    }
    let program = ferroflow();
    std::fs::write(program.home().join("sales.json"), document.to_string()).unwrap();
    let path = program.home().join("sales.json");
    let arguments = ["timetable", "preview", "--file", path.to_str().unwrap(), "--from", "2026-03-28"];
    let elsewhere = program.run(&[&arguments[..], &["--timezone", "Asia/Tokyo", "-n", "1"]].concat());
    let table = elsewhere.expect_success();
    for part in [
        "timezone   Europe/Paris (times are shown in Asia/Tokyo)",
        "Sun 2026-03-29 13:00 +09:00",
        "clocks in Europe/Paris go forward 1 h on Sun 2026-03-29 02:00",
    ] {
        assert!(table.contains(part), "{part:?} is not in: {table}");
    }
}

#[test]
fn partitions_have_keys_and_no_intervals() {
    let timetable = json!({
        "__type": "airflow.timetables.trigger.CronPartitionTimetable",
        "__var": {
            "expression": "0 6 * * *", "timezone": "UTC", "run_offset": -1, "run_immediately": false,
            "key_format": "%Y-%m-%d",
        },
    });
    let table = preview_of(&timetable, &["--from", "2026-03-01", "-n", "1"]).expect_success();
    let expected = "\
run | run_after                   | partition_key
====+=============================+==============
1   | Sun 2026-03-01 06:00 +00:00 | 2026-02-28
";
    assert!(table.ends_with(expected), "{table}");
}

#[test]
fn an_end_is_explained() {
    let built_in = |name: &str| json!({"__type": format!("airflow.timetables.{name}"), "__var": {}});
    let own = json!({"__type": "plugins.workdays.AfterWorkdayTimetable", "__var": {"region": "NY"}});
    let from = ["--timezone", "UTC", "--from", "2026-03-01"];
    for (finished, expected) in [
        (preview(&[&["@once"], &from[..]].concat()), "There are no more runs: the schedule asks for one."),
        (
            preview(&[&["@continuous"], &from[..]].concat()),
            "Each further run starts when the one before it is over, so its time cannot be told.",
        ),
        (
            preview(&[&["None"], &from[..]].concat()),
            "There are no runs: the schedule makes none by itself, somebody has to trigger them.",
        ),
        (
            preview(&[&["0 0 30 2 *"], &from[..]].concat()),
            "There are no runs: the cron expression matches no time in the next 50 years.",
        ),
        (
            preview(&[&["0 6 1 * * 0 2027"], &from[..]].concat()),
            "There are no runs: the cron expression matches no time in the past 50 years, and Airflow, which looks back \
             to find its place, then makes none.",
        ),
        (
            preview(&[&["@daily", "--until", "2026-03-03"], &from[..]].concat()),
            "There are no more runs: the next one would stand for a time after --until.",
        ),
        (
            preview_of(&built_in("simple.PartitionedAtRuntime"), &from),
            "There are no runs: the schedule makes none by itself, somebody has to trigger them and name the \
             partition.",
        ),
        (
            preview_of(&own, &from),
            "There are no runs to show: plugins.workdays.AfterWorkdayTimetable is a timetable of somebody's own, and \
             only Python can evaluate it, which ferroflow does not run yet.",
        ),
    ] {
        let table = finished.expect_success();
        assert_eq!(table.lines().last(), Some(expected), "{table}");
    }
}

#[test]
fn an_end_does_not_disturb_what_scripts_read() {
    for (format, expected) in [("json", "[]\n"), ("yaml", "[]\n"), ("plain", "No data found\n")] {
        let finished = preview(&["0 0 30 2 *", "--timezone", "UTC", "--from", "2026-03-01", "-o", format]);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), expected));
        assert!(finished.stderr.contains("matches no time"), "{}", finished.stderr);
    }
}

#[test]
fn help_teaches_by_examples() {
    let help = preview(&["--help"]).expect_success();
    for part in [
        "Examples:",
        "\"0 6 * * MON-FRI\" --timezone America/New_York",
        "--file",
        "jq",
        "PT90M",
        "at most 100,000",
    ] {
        assert!(help.contains(part), "{part:?} is not in: {help}");
    }
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = "It is 1 if a schedule, a file, a time zone, --from, --until or the configuration cannot be read or used, and 2 \
                  if the command itself is wrong";
    assert!(words.contains(status), "{words}");
    let outline = ferroflow().run(&["timetable", "--help"]).expect_success();
    assert!(outline.contains("preview") && outline.contains("Example: "), "{outline}");
}

#[test]
fn a_list_can_be_cut_off() {
    let program = ferroflow();
    let mut child = program
        .command(&[
            "timetable",
            "preview",
            "@hourly",
            "--timezone",
            "UTC",
            "--from",
            "2026-03-01",
            "-n",
            "9999",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
