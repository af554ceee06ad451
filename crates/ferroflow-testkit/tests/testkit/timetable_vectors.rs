//! What Airflow's timetables and croniter were seen to answer, asked of ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use ferroflow_testkit::replay::{Report, replay_timetables};
use ferroflow_testkit::repository;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

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
    let interval = |at: &str| json!({"s": at, "e": at});
    let record = |answer: &str| changed(whole("manual"), &json!({"x": interval(answer)}));

    let (code, told) = tool(&json!({"meta": {}, "manual": [record(NOW)]}));
    assert_eq!((code, told.as_str()), (Some(0), "manual           1 of 1\n"));

    let altered = "2024-03-10T07:30:00.000001Z";
    let (code, told) = tool(&json!({"manual": [record(NOW), record(altered)]}));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("manual           1 of 2\n"), "{told}");
    let difference = format!("manual: {}, expected {}\n", interval(NOW), interval(altered));
    assert!(told.contains(&difference), "{told}");
}

#[test]
fn the_tool_says_what_is_wrong_with_a_record_and_goes_on() {
    let half = changed(whole("manual"), &json!({"x": LEFT_OUT}));
    let (code, told) = tool(&json!({"manual": [half, whole("manual")], "validate": [whole("validate")]}));
    let expected = format!(
        "manual           1 of 2\nvalidate         1 of 1\n\n\
         manual: the record has neither x nor error\n  of {half}\n"
    );
    assert_eq!((code, told), (Some(1), expected));
}

#[test]
fn the_tool_says_that_there_is_nothing() {
    for (vectors, expected) in [
        (json!({}), "nothing to replay: 0 of 0\n"),
        (json!([]), "cron-syntax      0 of 0\n\ncron-syntax: there are no records\n"),
        (json!({"next": []}), "next             0 of 0\n\nnext: there are no records\n"),
    ] {
        assert_eq!(tool(&vectors), (Some(1), expected.to_owned()), "{vectors}");
    }
}

#[test]
fn whole_records_pass() {
    let plain: Vec<_> = KINDS.split(' ').map(|kind| (kind, json!({}))).collect();
    let changes = [
        ("next", json!({"mode": LEFT_OUT, "last": LEFT_OUT, "id": "n1"})),
        ("backfill", json!({"now": NOW, "truncated": false})),
        ("backfill", ending(&json!({"error": "CroniterBadDateError"}))),
        ("backfill", ending(&json!({"x": LEFT_OUT, "error": "CroniterBadDateError"}))),
        ("partition_date", json!({"key": "", "x": LEFT_OUT, "error": "InvalidPartitionKeyError"})),
        ("syntax", json!({"expr": "no", "runs": LEFT_OUT, "expanded": LEFT_OUT, "error": "Bad"})),
        ("run_id", json!({"partition_key": null, "random": [1, 2, 3, 4, 5, 6, 7, 255]})),
    ];
    let records = plain.iter().chain(&changes);
    let files = records.map(|(kind, change)| json!({*kind: [changed(whole(kind), change)]}));
    for vectors in files.chain([json!([listed()])]) {
        let report = replayed(vectors.to_string().as_bytes(), "json").unwrap();
        assert!(report.passed(), "{report}");
    }
}

#[test]
fn a_chain_that_compares_nothing_fails() {
    let ended = json!({"now": NOW, "x": null});
    let restriction = |change| json!({"restriction": changed(whole("next")["restriction"].clone(), &change)});
    let changes = [
        (json!({"steps": LEFT_OUT}), "the field steps is missing"),
        (json!({"steps": LEFT_OUT, "step": []}), "the field steps is missing"),
        (json!({"steps": []}), "steps is empty"),
        (json!({"steps": {}}), "steps is {}, which is not a list"),
        (json!({"steps": [ended, ended], "last": exact(NOW)}), "step 1 comes after the end"),
        (json!({"restriction": LEFT_OUT}), "the field restriction is missing"),
        (restriction(json!({"catchup": LEFT_OUT})), "the field catchup is missing"),
        (restriction(json!({"catchup": 1})), "catchup is 1, which is not true or false"),
        (restriction(json!({"latest": LEFT_OUT})), "the field latest is missing"),
        (restriction(json!({"end": null})), "the field end is unknown"),
        (json!({"id": 1}), "id is 1, which is not a text"),
        (json!({"tt": LEFT_OUT}), "the field tt is missing"),
    ];
    assert_refused("next", &changes);
}

#[test]
fn a_step_that_compares_nothing_fails() {
    let keyed = changed(exact(NOW), &json!({"pk": "key"}));
    for (change, problem) in [
        (json!({"x": LEFT_OUT}), "step 0: the record has neither x nor error"),
        (json!({"error": "ValueError"}), "step 0: the record has both x and error"),
        (json!({"x": LEFT_OUT, "error": 1}), "error is 1, which is not a text"),
        (json!({"x": LEFT_OUT, "error": "ValueError"}), "expected the error ValueError"),
        (json!({"x": null}), "expected null"),
        (json!({"x": 17}), "17 is not an object"),
        (json!({"x": {"ra": NOW, "s": NOW}}), "has half an interval"),
        (json!({"x": keyed}), r#"expected {"ra""#),
        (json!({"now": LEFT_OUT}), "the field now is missing"),
        (json!({"now": "2024-03-10T08:30:00+01:00"}), "is not how the vectors write"),
        (json!({"note": ""}), "the field note is unknown"),
    ] {
        let step = changed(whole("next")["steps"][0].clone(), &change);
        assert_refused("next", &[(json!({"steps": [step]}), problem)]);
    }
}

#[test]
fn a_field_that_is_not_compared_is_told() {
    for kind in KINDS.split(' ') {
        let vectors = json!({kind: [changed(whole(kind), &json!({"note": ""}))]});
        let report = replayed(vectors.to_string().as_bytes(), "json").unwrap();
        assert!(report.passed(), "{report}");
        let told = format!("note: {kind}: the field note is not known here, and was not compared");
        assert!(report.to_string().contains(&told), "{report}");
    }
}

#[test]
fn an_answer_that_compares_nothing_fails() {
    let both = (json!({"error": "E"}), "the record has both x and error");
    for kind in ["manual", "partition_date", "localize", "run_id", "validate"] {
        let neither = (json!({"x": LEFT_OUT}), "the record has neither x nor error");
        assert_refused(kind, &[neither, both.clone(), (json!({"x": 17}), "expected 17")]);
    }
    let custom = json!({"__type": "mine.Timetable", "__var": {}});
    let custom = json!({"tt": custom, "x": LEFT_OUT, "error": "E"});
    assert_refused("manual", &[(custom, "mine.Timetable is no timetable")]);
    assert_refused("partition_date", &[(json!({"key": 1}), "key is 1, which is not a text")]);
    assert_refused("localize", &[(json!({"at": null}), "at: null is not a time")]);
    assert_refused("run_id", &[(json!({"partition_key": 17}), "partition_key is 17, which is not a text")]);
    assert_refused("run_id", &[(json!({"random": [1]}), "random is not eight bytes")]);
    assert_refused("describe", &[(json!({"active_runs_limit": LEFT_OUT}), "active_runs_limit is missing")]);
    assert_refused("describe", &[(json!({"run_ordering": []}), "run_ordering is")]);
}

#[test]
fn a_backfill_that_compares_nothing_fails() {
    let changes = [
        (json!({"x": LEFT_OUT}), "the record has neither x nor error"),
        (json!({"x": null}), "x is null, which is not a list"),
        (json!({"x": [null]}), "a run of x is null"),
        (json!({"x": []}), "there are more runs than 0"),
        (json!({"x": [exact(NOW), exact(NOW)]}), "expected [{"),
        (json!({"truncated": true}), "there are no more runs than 1"),
        (json!({"truncated": 1}), "truncated is 1, which is not true or false"),
        (json!({"truncated": true, "x": []}), "the record has none of its runs"),
        (json!({"truncated": true, "error": "E"}), "the record has both truncated and error"),
        (json!({"error": "E"}), "expected to end with the error E"),
        (json!({"error": "E", "x": LEFT_OUT}), "there is no error, expected E"),
        (ending(&json!({})), "ended by"),
        (json!({"now": null}), "now: null is not a time"),
    ];
    assert_refused("backfill", &changes);
}

#[test]
fn an_expression_that_compares_nothing_fails() {
    let error = json!({"error": "CroniterBadDateError"});
    let changes = [
        (json!({"next": LEFT_OUT, "prev": LEFT_OUT}), "the field next is missing"),
        (json!({"prev": []}), "prev is empty"),
        (json!({"prev": "CroniterBadDateError"}), "which is not a list"),
        (json!({"prev": [null]}), "prev: null is not a time"),
        (json!({"prev": [{}]}), "prev ends with an object without error"),
        (json!({"prev": [error, "2024-03-10T00:00:00"]}), "is not a time"),
        (json!({"prev": ["2024-03-10T00:00:00"]}), "prev has 1 times and no error, beside 2"),
        (json!({"prev": ["2024-03-10T00:00:00", error]}), "expected None"),
        (json!({"every_hour": LEFT_OUT}), "the field every_hour is missing"),
        (json!({"every_hour": true}), "every hour: false, expected true"),
    ];
    assert_refused("cron", &changes);
    for (change, problem) in &changes {
        assert_refused("syntax", &[(json!({"runs": [changed(times(), change)]}), problem)]);
    }
    let changes = [
        (json!({"runs": LEFT_OUT, "expanded": LEFT_OUT}), "the field expanded is missing"),
        (json!({"runs": LEFT_OUT}), "the field runs is missing"),
        (json!({"runs": []}), "runs is empty"),
        (json!({"expanded": [[], []]}), "the expanded column of hours is empty"),
        (json!({"expanded": [[], ["*"]]}), "every hour: false, expected true"),
        (json!({"error": "E"}), "the record has both expanded and error"),
        (json!({"error": "E", "runs": LEFT_OUT, "expanded": LEFT_OUT}), "is accepted; croniter: E"),
    ];
    assert_refused("syntax", &changes);
}

#[test]
fn a_listed_expression_that_compares_nothing_fails() {
    let run = |change| json!({"runs": [changed(listed()["runs"][0].clone(), &change)]});
    for (change, problem) in [
        (json!({"runs": LEFT_OUT, "expanded": LEFT_OUT}), "the field expanded is missing"),
        (json!({"runs": LEFT_OUT}), "the field runs is missing"),
        (json!({"expanded": [[0], [0], [1], [1], ["*"], [0]]}), "seconds: false, of 6 columns"),
        (json!({"nth": LEFT_OUT}), "the field nth is missing"),
        (json!({"random": LEFT_OUT}), "the field random is missing"),
        (json!({"random": true}), "no column is drawn"),
        (json!({"error": "E"}), "the record has both expanded and error"),
        (json!({"note": ""}), "the field note is unknown"),
        (run(json!({"prev": "CroniterBadDateError: none"})), "expected None"),
        (run(json!({"prev": ["2024-01-01T00:00:00"]})), "expected None"),
        (run(json!({"next": LEFT_OUT})), "the field next is missing"),
    ] {
        assert_told(json!([changed(listed(), &change)]).to_string().as_bytes(), problem);
    }
}

#[test]
fn a_file_with_more_or_less_than_records_fails() {
    let right = whole("manual");
    let wrong = changed(right.clone(), &json!({"x": 17}));
    for (text, problem) in [
        (format!(r#"{{"manual": [{wrong}], "manual": [{right}]}}"#), "manual: stands twice in the file"),
        (format!(r#"{{"manual": [{right}], "meta": {{}}, "meta": {{}}}}"#), "meta: stands twice in the file"),
        (format!(r#"{{"manual": [{right}], "meta": []}}"#), "meta is not an object, but []"),
        (format!(r#"{{"manual": [{right}], "nonsense": []}}"#), "nonsense: there is no such kind of record"),
        (format!(r#"{{"manual": [{right}], "next": []}}"#), "next: there are no records"),
        (format!(r#"{{"manual": [{right}], "next": {{}}}}"#), "next: is not a list of records, but {}"),
        (format!(r#"{{"manual": [{right}, {{"x": 1, "x": 2}}]}}"#), "the field x stands twice"),
    ] {
        assert_told(text.as_bytes(), problem);
    }
    assert!(replayed(format!(r#"{{"manual": [{right}]}} []"#).as_bytes(), "json").is_err());
}

#[test]
fn what_follows_the_compressed_vectors_is_an_error() {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(json!({"manual": [whole("manual")]}).to_string().as_bytes()).unwrap();
    let whole = compressed.finish().unwrap();
    assert!(replayed(&whole, "json.gz").unwrap().passed());
    assert!(replayed(&whole[..whole.len() - 1], "json.gz").is_err());
    for behind in [b"garbage".as_slice(), &whole] {
        assert!(replayed(&[&whole, behind].concat(), "json.gz").is_err());
    }
}

const KINDS: &str = "next manual backfill partition_date localize cron syntax run_id describe validate";
const NOW: &str = "2024-03-10T07:30:00Z";
/// In the place of the value of a field: the record does not have it.
const LEFT_OUT: &str = "(left out)";

/// An object with some fields changed, added or left out.
fn changed(mut record: Value, changes: &Value) -> Value {
    let fields = record.as_object_mut().unwrap();
    fields.extend(changes.as_object().unwrap().clone());
    fields.retain(|_, value| value != LEFT_OUT);
    record
}

fn once() -> Value {
    json!({"__type": "airflow.timetables.simple.OnceTimetable", "__var": {}})
}

/// Turns a backfill into one whose schedule ends with an error after its run.
fn ending(changes: &Value) -> Value {
    let cron = json!({"expression": "30 7 10 3 * 0 2023-2024", "timezone": "UTC", "interval": 0.0,
                      "run_immediately": false});
    let tt = json!({"__type": "airflow.timetables.trigger.CronTriggerTimetable", "__var": cron});
    changed(json!({"tt": tt, "earliest": "2024-03-10T07:00:00Z"}), changes)
}

fn partitions() -> Value {
    let fields = json!({"expression": "0 0 * * *", "timezone": "UTC", "run_immediately": false,
                        "run_offset": 0, "key_format": "%Y-%m-%d"});
    json!({"__type": "airflow.timetables.trigger.CronPartitionTimetable", "__var": fields})
}

fn exact(at: &str) -> Value {
    json!({"ra": at, "s": at, "e": at})
}

/// A record of a kind that passes.
fn whole(kind: &str) -> Value {
    match kind {
        "next" => json!({
            "tt": once(), "mode": "frozen", "last": null,
            "restriction": {"earliest": NOW, "latest": null, "catchup": true},
            "steps": [{"now": NOW, "x": exact(NOW)}, {"now": NOW, "x": null}],
        }),
        "manual" => json!({"tt": once(), "run_after": NOW, "x": {"s": NOW, "e": NOW}}),
        "backfill" => {
            json!({"tt": once(), "earliest": NOW, "latest": "2024-03-12T00:00:00Z", "x": [exact(NOW)]})
        }
        "partition_date" => json!({"tt": partitions(), "key": "2024-03-10", "x": "2024-03-10T00:00:00Z"}),
        "localize" => json!({"tt": partitions(), "at": NOW, "x": NOW}),
        "cron" => changed(times(), &json!({"expr": "0 0 * * *"})),
        "syntax" => json!({"expr": "0 0 * * *", "expanded": [[], [0]], "runs": [times()]}),
        "run_id" => {
            json!({"tt": once(), "run_type": "manual", "run_after": NOW, "x": "manual__2024-03-10T07:30:00+00:00"})
        }
        "describe" => json!({
            "tt": once(), "summary": "@once", "description": "Once, as soon as possible",
            "type_name": "OnceTimetable", "periodic": false, "can_be_scheduled": true, "partitioned": false,
            "active_runs_limit": null, "run_ordering": ["logical_date"],
        }),
        "validate" => json!({"tt": once(), "now": NOW, "x": null}),
        _ => panic!("there is no kind {kind}"),
    }
}

/// Two midnights in each direction.
fn times() -> Value {
    json!({"start": "2024-03-10T07:30:00", "next": ["2024-03-11T00:00:00", "2024-03-12T00:00:00"],
           "prev": ["2024-03-10T00:00:00", "2024-03-09T00:00:00"], "every_hour": false})
}

/// A record of the list of expressions.
fn listed() -> Value {
    let years = |years: [u16; 5]| years.map(|year| format!("{year}-01-01T00:00:00"));
    let run = json!({"start": "2024-03-10T07:30:00", "next": years([2025, 2026, 2027, 2028, 2029]),
                     "prev": years([2024, 2023, 2022, 2021, 2020])});
    let expanded = json!([[0], [0], [1], [1], ["*"]]);
    json!({"expr": "0 0 1 1 *", "expanded": expanded, "nth": {}, "random": false, "runs": [run]})
}

/// That a record of a kind fails with each of some changes.
fn assert_refused(kind: &str, changes: &[(Value, &str)]) {
    for (change, problem) in changes {
        let record = changed(whole(kind), change);
        assert_told(json!({kind: [record]}).to_string().as_bytes(), problem);
    }
}

/// That the vectors fail and that it is said why.
fn assert_told(vectors: &[u8], problem: &str) {
    let report = replayed(vectors, "json").unwrap();
    assert!(!report.passed(), "passes, expected {problem:?}: {}", String::from_utf8_lossy(vectors));
    let told = report.to_string();
    assert!(told.contains(problem), "expected {problem:?}:\n{told}");
}

fn replayed(content: &[u8], extension: &str) -> anyhow::Result<Report> {
    in_a_file(content, extension, replay_timetables)
}

/// The exit status of the tool and what it says of some vectors.
fn tool(vectors: &Value) -> (Option<i32>, String) {
    let tool = Path::new(env!("CARGO_BIN_EXE_replay"));
    let run = |file: &Path| Command::new(tool).arg("timetables").arg(file).output().unwrap();
    let told = in_a_file(vectors.to_string().as_bytes(), "json", run);
    (told.status.code(), String::from_utf8(told.stdout).unwrap())
}

fn in_a_file<T>(content: &[u8], extension: &str, run: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("vectors").with_extension(extension);
    std::fs::write(&file, content).unwrap();
    run(&file)
}
