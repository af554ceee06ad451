//! What Airflow's partition mappers were seen to make of keys, asked of ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::num::NonZeroI32;
use std::sync::LazyLock;

use ferroflow_model::partition_mapper::{KeyProblem, PartitionMapper, Shortfall, WaitPolicy};
use ferroflow_model::timetable::{PartitionDate, PartitionedAsset, Timetable};
use ferroflow_testkit::replay::read;
use ferroflow_testkit::repository;
use jiff::Timestamp;
use serde_json::{Value, json};

#[test]
fn mappers_make_of_keys_what_airflow_s_make() {
    let records = records("mapper", 2500);
    let differences: Vec<String> = records.iter().filter_map(|record| mapper_differs(record).err()).collect();
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), first_of(&differences));
}

#[test]
fn assets_agree_on_a_date_as_they_do_in_airflow() {
    let records = records("timetable", 600);
    let differences: Vec<String> =
        records.iter().filter_map(|record| timetable_differs(record).err()).collect();
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), first_of(&differences));
}

#[test]
fn windows_are_complete_when_they_are_in_airflow() {
    for record in records("wait", 300) {
        let policy = match record["count"].as_i64() {
            None => WaitPolicy::All,
            Some(count) => WaitPolicy::AtLeast(NonZeroI32::new(i32::try_from(count).unwrap()).unwrap()),
        };
        let answer = policy.judge(&texts(&record["expected"]), &texts(&record["received"]));
        let is_unreachable = matches!(answer, Err(Shortfall::Unreachable { .. }));
        assert_eq!(json!(answer.is_ok()), record["satisfied"], "{record}");
        assert_eq!(json!(is_unreachable), record["unreachable"], "{record}");
    }
}

#[test]
fn the_vectors_hold_what_is_hard() {
    let texts: Vec<String> = records("mapper", 2500).iter().map(Value::to_string).collect();
    for (what, least) in [
        (r#""down":{"key":"#, 2000),
        (r#""up":{"key":"#, 1000),
        (r#""error":"#, 500),
        (r#""error":"ValueError"}"#, 300),
        (r#""error":"TypeError"}"#, 10),
        (r#""error":"KeyError"}"#, 1),
        ("9999-12-3", 10),
        ("backward", 400),
        ("%z", 150),
        ("SegmentWindow", 100),
        (r#""encoded":"#, 20),
    ] {
        let found = texts.iter().filter(|text| text.contains(what)).count();
        assert!(found >= least, "{found} records have {what}");
    }
}

fn mapper_differs(record: &Value) -> Result<(), String> {
    let decoded = decode(&wrapped(&record["mapper"]));
    if record.get("error").is_some() {
        return compare(record, "is refused", &json!(decoded.is_err()), &json!(true));
    }
    let partitioned = decoded.map_err(|problem| format!("{problem}\n  of {record}"))?;
    let mapper = partitioned.mapper("a", "s3://a");
    let encoded = record.get("encoded").unwrap_or(&record["mapper"]);
    compare(record, "encoded", &mapper.encode(), encoded)?;
    compare(record, "is_rollup", &json!(mapper.is_rollup()), &record["is_rollup"])?;
    compare(record, "carries", &json!(mapper.carries_partition_date().unwrap()), &record["carries"])?;
    downstream_differs(record, mapper)?;
    if let Some(up) = record.get("up") {
        let keys = mapper.to_upstream(text(&up["key"])).map(|keys| json!(keys));
        compare_answer(record, "up", &keys)?;
    }
    let date = partitioned.date(text(&record["date"]["key"])).map(|date| match date {
        PartitionDate::At(date) => json!(written(date)),
        PartitionDate::NotATime | PartitionDate::Conflict => Value::Null,
    });
    compare_answer(record, "date", &date)
}

fn downstream_differs(record: &Value, mapper: &PartitionMapper) -> Result<(), String> {
    let down = &record["down"];
    let mut keys = mapper.to_downstream(text(&down["key"]));
    if let Some(unordered) = down.get("unordered") {
        let _ = keys.as_mut().map(|keys| keys.sort());
        return compare(record, "down", &json!(keys.ok()), unordered);
    }
    let keys = keys.map(|keys| if down["x"].is_string() { json!(keys[0]) } else { json!(keys) });
    compare_answer(record, "down", &keys)
}

fn timetable_differs(record: &Value) -> Result<(), String> {
    let decoded = decode(&record["tt"]);
    if record.get("error").is_some() {
        return compare(record, "is refused", &json!(decoded.is_err()), &json!(true));
    }
    let partitioned = decoded.map_err(|problem| format!("{problem}\n  of {record}"))?;
    let fingerprint = partitioned.rollup_fingerprint();
    compare(
        record,
        "fingerprint",
        &json!(fingerprint.to_string()),
        &json!(record["fingerprint"].to_string()),
    )?;
    let key = text(&record["date"]["key"]);
    let timetable = Timetable::PartitionedAsset(Box::new(partitioned.clone()));
    let date = timetable.partition_date(key).map(|date| json!(date.map(written)));
    compare_answer(record, "date", &date)?;
    let names: Vec<(String, String)> =
        texts(&record["some"]).into_iter().map(|name| (name.clone(), format!("s3://b/{name}"))).collect();
    let names = names.iter().map(|(name, uri)| (name.as_str(), uri.as_str()));
    let for_some = match partitioned.date_for(names, key) {
        Ok(PartitionDate::At(date)) => written(date),
        Ok(PartitionDate::NotATime) => "carried".to_owned(),
        Ok(PartitionDate::Conflict) => "conflict".to_owned(),
        Err(_) => "raised".to_owned(),
    };
    compare(record, "for_some", &json!(for_some), &record["for_some"])
}

/// Whether an answer is the recorded one; of an error only that it is one.
fn compare_answer<E: ToString>(record: &Value, part: &str, answer: &Result<Value, E>) -> Result<(), String> {
    let expected = &record[part];
    match (answer, expected.get("x")) {
        (Ok(answer), Some(expected)) => compare(record, part, answer, expected),
        (Err(_), None) => Ok(()),
        (Ok(answer), None) => Err(format!("{part}: {answer}, expected {expected}\n  of {record}")),
        (Err(problem), Some(_)) => {
            Err(format!("{part}: {}, expected {expected}\n  of {record}", problem.to_string()))
        }
    }
}

fn compare(record: &Value, part: &str, answer: &Value, expected: &Value) -> Result<(), String> {
    if answer == expected {
        return Ok(());
    }
    Err(format!("{part}: {answer}, expected {expected}\n  of {record}"))
}

fn decode(timetable: &Value) -> Result<PartitionedAsset, String> {
    match Timetable::decode(&timetable.to_string()) {
        Ok(Timetable::PartitionedAsset(partitioned)) => Ok(*partitioned),
        Ok(_) => Err("another timetable".to_owned()),
        Err(problems) => Err(problems.to_string()),
    }
}

fn wrapped(mapper: &Value) -> Value {
    let asset = json!({"__type": "asset", "name": "a", "uri": "s3://a", "group": "g", "extra": {}});
    let data =
        json!({"asset_condition": asset, "partition_mapper_config": [], "default_partition_mapper": mapper});
    json!({"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": data})
}

fn records(kind: &str, least: usize) -> &'static [Value] {
    static CONTENT: LazyLock<Value> = LazyLock::new(|| {
        let file = repository("testdata/partition_mappers/partition-mappers.json.gz");
        serde_json::from_str(&read(&file).unwrap()).unwrap()
    });
    let Value::Array(records) = &CONTENT[kind] else { panic!("there are no records of {kind}") };
    assert!(records.len() >= least, "there are {} records of {kind}", records.len());
    records
}

fn first_of(differences: &[String]) -> String {
    differences.iter().take(8).map(String::as_str).collect::<Vec<_>>().join("\n\n")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|item| text(item).to_owned()).collect()
}

/// An instant as the vectors write it.
fn written(at: Timestamp) -> String {
    if at.subsec_nanosecond() == 0 { format!("{at:.0}") } else { format!("{at:.6}") }
}

#[test]
fn a_class_of_somebody_s_own_is_an_answer_and_not_the_end_of_the_dag() {
    let mine = json!({"__type": "mine.Mapper", "__var": {"x": 1, "max_downstream_keys": 3}});
    let partitioned = decode(&wrapped(&mine)).unwrap();
    let mapper = partitioned.mapper("a", "s3://a");
    let needs_python = KeyProblem::NeedsPython { class: "mine.Mapper".to_owned() };
    assert_eq!(mapper.to_downstream("k"), Err(needs_python.clone()));
    assert_eq!(mapper.to_upstream("k"), Err(needs_python.clone()));
    assert_eq!(mapper.carries_partition_date(), Err(needs_python.clone()));
    assert_eq!(partitioned.date("k"), Err(needs_python));
    assert_eq!(partitioned.rollup_fingerprint(), json!({"a|s3://a": mine}));
}
