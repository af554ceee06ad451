//! Each reason and boundary of creating runs for partitions of assets.

use std::collections::BTreeMap;
use std::num::NonZeroI32;

use ferroflow_model::Json;
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::partition_mapper::{KeyProblem, WaitPolicy};
use ferroflow_model::runs::assets::{KnownAssets, Missing};
use ferroflow_model::runs::partitions::{
    AssetProgress, NoDate, NotCreated, PartitionedDag, PendingPartition, Verdict, decide,
};
use ferroflow_model::state::{RunType, TriggeredBy};
use ferroflow_model::timetable::PartitionDate;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::runs::assets::{asset, key};
use crate::runs::given::{NOW, at};

fn rollup(received: &[&'static str], expected: &[&str], wait: WaitPolicy) -> AssetProgress<'static> {
    let keys = expected.iter().map(|key| (*key).to_owned()).collect();
    AssetProgress { expected: Ok(Some(keys)), wait, ..plain(received) }
}

fn plain(received: &[&'static str]) -> AssetProgress<'static> {
    AssetProgress {
        asset: key("a"),
        received: received.iter().copied().collect(),
        expected: Ok(None),
        wait: WaitPolicy::All,
    }
}

fn at_least(count: i32) -> WaitPolicy {
    WaitPolicy::AtLeast(NonZeroI32::new(count).unwrap())
}

fn pending<'a>(assets: &'a [AssetProgress<'a>], fingerprint: &'a Json) -> PendingPartition<'a> {
    PendingPartition {
        id: 1,
        dag_id: "d",
        dag_is_stale: false,
        partition_key: "2024",
        partition_date: None,
        created_at: at(1),
        fingerprint: Some(fingerprint),
        assets,
        key_date: Ok(PartitionDate::NotATime),
    }
}

/// The mappers of a DAG, and the same as they were stamped on a row.
fn fingerprint(value: Value) -> (Value, Json) {
    let stamped = Json::from(&value);
    (value, stamped)
}

/// The verdict on one row of a DAG that waits for asset `a`.
fn judge(change: impl FnOnce(&mut PendingPartition<'_>), assets: &[AssetProgress<'_>]) -> String {
    let (mappers, stamped) = fingerprint(json!({"a|u/a": {"n": 1}, "b|u/b": [2]}));
    let condition = asset("a");
    let dag = PartitionedDag { fingerprint: &mappers, condition: &condition, is_partitioned: true };
    let mut row = pending(assets, &stamped);
    change(&mut row);
    let dag_of = |dag_id: &str| (dag_id == "d").then_some(dag);
    match decide(&[row], dag_of, &KnownAssets::default(), at(NOW), 1).remove(0).1 {
        Verdict::Create { run, no_date } => {
            assert_eq!((run.run_type, run.triggered_by), (RunType::AssetTriggered, TriggeredBy::Asset));
            assert_eq!((run.run_after, run.partition_key), (at(NOW), Some("2024")));
            assert_eq!((run.logical_date, run.data_interval), (None, None));
            let date = run.partition_date.map(jiff::Timestamp::as_second);
            format!("{date:?}{}", no_date.map(|reason| format!(" {reason}")).unwrap_or_default())
        }
        Verdict::Waiting { missing, lacking } => {
            assert_eq!(missing, Missing::Asset(key("a")));
            lacking
                .iter()
                .map(|(asset, lacking)| format!("{asset}: {lacking}"))
                .collect::<Vec<_>>()
                .join("; ")
        }
        Verdict::Refused(reason) => reason.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn an_asset_without_a_window_is_there_with_its_first_event() {
    assert_eq!(judge(|_| (), &[plain(&["x"])]), "None");
    assert_eq!(judge(|_| (), &[]), "");
}

#[test]
fn all_of_a_window_is_all_of_it() {
    let told = |received: &[&'static str]| judge(|_| (), &[rollup(received, &["x", "y"], WaitPolicy::All)]);
    assert_eq!(told(&["x", "y", "other"]), "None");
    assert_eq!(told(&["x", "other"]), r#"asset "a" at "u/a": 1 of 2 keys have come, and 2 are needed"#);
    assert_eq!(judge(|_| (), &[rollup(&["x"], &[], WaitPolicy::All)]), "None");
}

#[test]
fn a_part_of_a_window_may_be_enough() {
    let told = |received: &[&'static str], count| {
        judge(|_| (), &[rollup(received, &["x", "y", "z"], at_least(count))])
    };
    assert_eq!(told(&["x", "y"], 2), "None");
    assert_eq!(told(&["x", "o", "p"], 2), r#"asset "a" at "u/a": 1 of 3 keys have come, and 2 are needed"#);
    assert_eq!(told(&["x", "y"], -1), "None");
    assert_eq!(told(&["x"], -1), r#"asset "a" at "u/a": 1 of 3 keys have come, and 2 are needed"#);
    assert_eq!(told(&["o"], -3), "None");
    assert_eq!(told(&["o"], i32::MIN), "None");
    let never = r#"asset "a" at "u/a": 4 keys are needed, and there are only 3: it can never be enough"#;
    assert_eq!(told(&["x", "y", "z"], 4), never);
    assert_eq!(told(&["x", "y", "z"], 3), "None");
}

#[test]
fn a_mapper_that_fails_keeps_its_partition_waiting() {
    let failing = AssetProgress { expected: Err(KeyProblem::NoDelimiter), ..plain(&["x"]) };
    let told = r#"asset "a" at "u/a": the partition mapper failed: the delimiter of the segments is empty"#;
    assert_eq!(judge(|_| (), &[failing]), told);
}

#[test]
fn the_date_is_the_one_that_all_mappers_of_time_see() {
    let told = |key_date| {
        let carries = |row: &mut PendingPartition<'_>| {
            row.partition_date = Some(at(9));
            row.key_date = key_date;
        };
        judge(carries, &[plain(&["x"])])
    };
    assert_eq!(told(Ok(PartitionDate::NotATime)), "Some(9)");
    assert_eq!(told(Ok(PartitionDate::At(at(3)))), "Some(3)");
    assert_eq!(told(Ok(PartitionDate::Conflict)), format!("None {}", NoDate::Conflict));
    assert_eq!(NoDate::Conflict.to_string(), "partition mappers see different dates in the key");
    let failed = "None the partition mapper failed: the delimiter of the segments is empty";
    assert_eq!(told(Err(KeyProblem::NoDelimiter)), failed);
}

#[test]
fn other_mappers_make_a_partition_outdated() {
    let stamped = |text: &str| {
        let stamped = Json::from_text(text.to_owned()).unwrap();
        let assets = [plain(&["x"])];
        let (current, condition) = (json!({"a|u/a": {"n": 1}, "b|u/b": [2]}), asset("a"));
        let dag = PartitionedDag { fingerprint: &current, condition: &condition, is_partitioned: true };
        let rows = [pending(&assets, &stamped)];
        let decided = decide(&rows, |_| Some(dag), &KnownAssets::default(), at(NOW), 1);
        decided[0].1 == Verdict::Outdated
    };
    assert!(!stamped(r#"{"b|u/b": [2.0], "a|u/a": {"n": 1}}"#));
    assert!(stamped(r#"{"a|u/a": {"n": 1}}"#));
    assert!(stamped(r#"{"a|u/a": {"n": 1}, "b|u/b": [3]}"#));
    assert!(stamped(r#"{"a|u/a": {"n": 1}, "b|u/b": [2, 2]}"#));
    assert!(stamped(r#"{"a|u/a": {"n": "1"}, "b|u/b": [2]}"#));
    assert!(stamped(r#"{"a|u/a": {"n": 1}, "b|u/b": [2], "c|u/c": 1}"#));
    assert_eq!(judge(|row| row.fingerprint = None, &[plain(&["x"])]), "Outdated");
}

#[test]
fn a_partition_whose_dag_is_gone_is_left_as_it_is() {
    let there = [plain(&["x"])];
    assert_eq!(judge(|row| row.dag_is_stale = true, &there), NotCreated::Stale.to_string());
    assert_eq!(judge(|row| row.dag_id = "other", &there), NotCreated::NoDefinition.to_string());
    assert_eq!(judge(|row| row.partition_key = " \t", &there), NotCreated::BadKey.to_string());
    let key_of = |length: usize| {
        let key = "ü".repeat(length);
        let ((mappers, stamped), condition) = (fingerprint(json!({})), AssetCondition::All(vec![]));
        let dag = PartitionedDag { fingerprint: &mappers, condition: &condition, is_partitioned: true };
        let rows = [PendingPartition { partition_key: &key, ..pending(&[], &stamped) }];
        let decided = decide(&rows, |_| Some(dag), &KnownAssets::default(), at(NOW), 1);
        matches!(decided[0].1, Verdict::Create { .. })
    };
    assert!(key_of(250));
    assert!(!key_of(251));
}

#[test]
fn a_dag_without_partitions_gets_no_run_for_one() {
    let ((mappers, stamped), condition) = (fingerprint(json!({})), AssetCondition::All(vec![]));
    let dag = PartitionedDag { fingerprint: &mappers, condition: &condition, is_partitioned: false };
    let decided = decide(&[pending(&[], &stamped)], |_| Some(dag), &KnownAssets::default(), at(NOW), 1);
    assert_eq!(decided[0].1, Verdict::Refused(NotCreated::NotPartitioned));
    assert_eq!(NotCreated::NotPartitioned.to_string(), "the DAG has no partitions");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Partitions that cannot have a run hide none that can, and DAGs take turns.
    #[test]
    fn who_waits_in_vain_takes_no_place(
        rows in prop::collection::vec((0..3_usize, any::<bool>(), 0..50_i64), 0..30), limit in 0..12_usize,
    ) {
        let ((mappers, stamped), condition) = (fingerprint(json!({})), asset("a"));
        let dag = PartitionedDag { fingerprint: &mappers, condition: &condition, is_partitioned: true };
        let there = [plain(&["x"])];
        let pendings: Vec<PendingPartition<'_>> = rows.iter().zip(1..).map(|((dag, ready, since), id)| {
            let assets: &[AssetProgress<'_>] = if *ready { &there } else { &[] };
            let (dag_id, created_at) = (["d", "e", "f"][*dag], at(*since));
            PendingPartition { id, dag_id, created_at, ..pending(assets, &stamped) }
        }).collect();
        let known = KnownAssets::default();
        let decided = decide(&pendings, |_| Some(dag), &known, at(NOW), limit);
        let mut turned = pendings.clone();
        turned.reverse();
        prop_assert_eq!(&decided, &decide(&turned, |_| Some(dag), &known, at(NOW), limit));
        let is_created = |verdict: &Verdict<'_>| matches!(verdict, Verdict::Create { .. });
        let created = decided.iter().filter(|(_, verdict)| is_created(verdict));
        let created: Vec<i64> = created.map(|(id, _)| *id).collect();
        let ready = rows.iter().filter(|(_, ready, _)| *ready).count();
        prop_assert_eq!(created.len(), ready.min(limit));
        let mut of_dag: BTreeMap<&str, Vec<&PendingPartition<'_>>> = BTreeMap::new();
        for row in pendings.iter().filter(|row| !row.assets.is_empty()) {
            of_dag.entry(row.dag_id).or_default().push(row);
        }
        for rows in of_dag.values_mut() {
            rows.sort_by_key(|row| (row.created_at, row.id));
            let here = rows.iter().take_while(|row| created.contains(&row.id)).count();
            prop_assert!(rows[here..].iter().all(|row| !created.contains(&row.id)));
            prop_assert!(here >= rows.len().min(limit / 3));
        }
        // Who waits longest of all is first.
        let oldest = pendings.iter().filter(|row| !row.assets.is_empty()).map(|row| row.created_at).min();
        let first = created.first().and_then(|id| pendings.iter().find(|row| row.id == *id));
        prop_assert!(first.is_none_or(|row| Some(row.created_at) == oldest));
    }
}
