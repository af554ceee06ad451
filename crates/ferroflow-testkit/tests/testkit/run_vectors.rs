//! Which runs Airflow was seen to create and to start, asked of ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroI32;

use ferroflow_model::Json;
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::partition_mapper::{Shortfall, WaitPolicy};
use ferroflow_model::runs::assets::{
    AssetKey, KnownAssets, QueueVerdict, QueuedAsset, judge_queues, missing,
};
use ferroflow_model::runs::partitions::{self, AssetProgress, Lacking, PartitionedDag, PendingPartition};
use ferroflow_model::runs::{create, start};
use ferroflow_model::state::RunType;
use ferroflow_model::timetable::{DataInterval, PartitionDate, Timetable};
use ferroflow_testkit::replay::read;
use ferroflow_testkit::repository;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Recorded {
    conditions: Vec<Conditions>,
    windows: Vec<Window>,
    creations: Vec<Creation>,
    starts: Vec<Start>,
}

#[derive(Deserialize)]
struct World {
    assets: Vec<NamedAsset>,
    active: Vec<usize>,
    aliases: BTreeMap<String, Vec<usize>>,
}

#[derive(Deserialize)]
struct NamedAsset {
    name: String,
    uri: String,
}

#[derive(Deserialize)]
struct Conditions {
    #[serde(flatten)]
    world: World,
    cases: Vec<ConditionCase>,
}

#[derive(Deserialize)]
struct ConditionCase {
    condition: Value,
    there: Vec<usize>,
    met: bool,
}

#[derive(Deserialize)]
struct Window {
    expected: BTreeSet<String>,
    received: Vec<String>,
    at_least: Option<NonZeroI32>,
    enough: bool,
    unreachable: bool,
}

#[derive(Deserialize)]
struct Creation {
    #[serde(flatten)]
    world: World,
    dags: Vec<RecordedDag>,
    created: Vec<Created>,
    outdated: Vec<String>,
}

#[derive(Deserialize)]
struct RecordedDag {
    dag_id: String,
    is_paused: bool,
    is_stale: bool,
    has_import_errors: bool,
    max_active_runs: i32,
    active: u32,
    active_backfill: u32,
    due: Value,
    condition: Option<Value>,
    queued: Vec<Queued>,
}

#[derive(Deserialize)]
struct Queued {
    asset: usize,
    at: i64,
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Created {
    dag_id: String,
    triggered: Option<i64>,
}

#[derive(Deserialize)]
struct Start {
    dags: Vec<StartDag>,
    backfills: Vec<StartBackfill>,
    runs: Vec<StartRun>,
    started: Vec<String>,
}

#[derive(Deserialize)]
struct StartDag {
    dag_id: String,
    is_paused: bool,
    is_stale: bool,
    max_active_runs: i32,
}

#[derive(Deserialize)]
struct StartBackfill {
    id: i32,
    is_paused: bool,
    max_active_runs: i32,
}

#[derive(Deserialize)]
struct StartRun {
    dag_id: String,
    run_id: String,
    state: String,
    after: Value,
    backfill: Option<i32>,
    ordinal: Option<i32>,
}

const NOW: i64 = 1_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A recorded time: a number of seconds, `"future"`, or nothing.
fn time(recorded: &Value) -> Option<Timestamp> {
    if recorded == "future" { Some(at(NOW + 1)) } else { recorded.as_i64().map(at) }
}

fn recorded() -> Recorded {
    serde_json::from_str(&read(&repository("testdata/runs/runs.json.gz")).unwrap()).unwrap()
}

fn condition(document: &Value) -> AssetCondition {
    let class = "airflow.timetables.simple.AssetTriggeredTimetable";
    let timetable = json!({"__type": class, "__var": {"asset_condition": document}});
    match Timetable::decode(&timetable.to_string()) {
        Ok(Timetable::AssetTriggered(condition)) => condition,
        other => panic!("{other:?}"),
    }
}

impl World {
    fn key(&self, number: usize) -> AssetKey<'_> {
        AssetKey { name: &self.assets[number].name, uri: &self.assets[number].uri }
    }

    fn known(&self) -> KnownAssets<'_> {
        let active = || self.active.iter().map(|number| self.key(*number));
        let of_alias = self.aliases.iter();
        KnownAssets {
            of_alias: of_alias
                .map(|(name, linked)| {
                    (name.as_str(), linked.iter().map(|number| self.key(*number)).collect())
                })
                .collect(),
            active_by_name: active().map(|key| (key.name, key)).collect(),
            active_by_uri: active().map(|key| (key.uri, key)).collect(),
        }
    }
}

#[test]
fn conditions_are_met_when_airflow_says_so() {
    let recorded = recorded().conditions;
    let mut met = [0, 0];
    for Conditions { world, cases } in &recorded {
        for case in cases {
            let there = case.there.iter().map(|number| world.key(*number)).collect();
            let condition = condition(&case.condition);
            let lacks = missing(&condition, &there, &world.known());
            assert_eq!(lacks.is_none(), case.met, "{}: {lacks:?}", case.condition);
            met[usize::from(case.met)] += 1;
        }
    }
    assert!(met.iter().all(|count| *count >= 150), "{met:?}");
}

#[test]
fn windows_are_full_when_airflow_says_so() {
    let (mappers, stamped) = (json!({}), Json::from(json!({})));
    let condition = condition(&json!({"__type": "asset", "name": "a", "uri": "u", "group": "g"}));
    let dag = PartitionedDag { fingerprint: &mappers, condition: &condition, is_partitioned: true };
    let recorded = recorded().windows;
    assert!(recorded.len() >= 300);
    for window in &recorded {
        let wait = window.at_least.map_or(WaitPolicy::All, WaitPolicy::AtLeast);
        let assets = [AssetProgress {
            asset: AssetKey { name: "a", uri: "u" },
            received: window.received.iter().map(String::as_str).collect(),
            expected: Ok(Some(window.expected.clone())),
            wait,
        }];
        let row = PendingPartition {
            id: 1,
            dag_id: "d",
            dag_is_stale: false,
            partition_key: "k",
            partition_date: None,
            created_at: at(0),
            fingerprint: Some(&stamped),
            assets: &assets,
            key_date: Ok(PartitionDate::NotATime),
        };
        let verdict =
            partitions::decide(&[row], |_| Some(dag), &KnownAssets::default(), at(NOW), 1).remove(0).1;
        assert_eq!(matches!(verdict, partitions::Verdict::Create { .. }), window.enough, "{verdict:?}");
        let unreachable = matches!(&verdict, partitions::Verdict::Waiting { lacking, .. }
            if matches!(lacking[..], [(_, Lacking::Keys(Shortfall::Unreachable { .. }))]));
        assert_eq!(unreachable, window.unreachable, "{verdict:?}");
    }
}

#[test]
fn the_runs_that_airflow_creates_are_created() {
    let recorded = recorded().creations;
    let total: usize = recorded.iter().map(|creation| creation.created.len()).sum();
    assert!(total >= 150, "{total}");
    for creation in &recorded {
        let mut outdated = Vec::new();
        for limit in [1, 3, 100] {
            let created = create_all(creation, limit, &mut outdated);
            assert_eq!(created, creation.created);
            assert_eq!(outdated, creation.outdated);
        }
    }
}

/// Creates what is due, a few at a time, until nothing is.
fn create_all(creation: &Creation, limit: usize, outdated: &mut Vec<String>) -> Vec<Created> {
    let conditions: BTreeMap<&str, AssetCondition> = creation
        .dags
        .iter()
        .filter_map(|dag| Some((dag.dag_id.as_str(), condition(dag.condition.as_ref()?))))
        .collect();
    let waiting: Vec<QueuedAsset<'_>> =
        creation.dags.iter().flat_map(|dag| queued_assets(&creation.world, dag)).collect();
    let queues = judge_queues(&waiting, |dag_id| conditions.get(dag_id), &creation.world.known());
    let stale = queues.iter().filter(|(_, verdict)| **verdict == QueueVerdict::Stale);
    *outdated = stale.map(|(dag_id, _)| (*dag_id).to_owned()).collect();
    let mut facts: Vec<create::DagFacts<'_>> =
        creation.dags.iter().map(|dag| dag_facts(dag, queues.get(dag.dag_id.as_str()))).collect();
    let mut created = Vec::new();
    loop {
        let decisions = create::decide(&facts, at(NOW), limit);
        let before = created.len();
        for decision in decisions {
            let create::Verdict::Create(run) = decision.verdict else { continue };
            let dag = facts.iter_mut().find(|dag| dag.dag_id == decision.dag_id).unwrap();
            let by_assets = run.run_type == RunType::AssetTriggered;
            let triggered = by_assets.then(|| run.run_after.as_second());
            created.push(Created { dag_id: decision.dag_id.to_owned(), triggered });
            if by_assets { &mut dag.assets_triggered_at } else { &mut dag.next_dagrun_create_after }.take();
        }
        if created.len() == before {
            created.sort_by(|one, other| {
                let key = |one: &Created| (one.dag_id.clone(), one.triggered.unwrap_or(0));
                key(one).cmp(&key(other))
            });
            return created;
        }
    }
}

fn queued_assets<'a>(world: &'a World, dag: &'a RecordedDag) -> impl Iterator<Item = QueuedAsset<'a>> {
    dag.queued.iter().map(|queued| QueuedAsset {
        target_dag_id: &dag.dag_id,
        asset: world.key(queued.asset),
        created_at: at(queued.at),
        dag_has_asset_expression: dag.condition.is_some(),
    })
}

fn dag_facts<'a>(dag: &'a RecordedDag, queue: Option<&QueueVerdict<'_>>) -> create::DagFacts<'a> {
    let due = time(&dag.due);
    create::DagFacts {
        dag_id: &dag.dag_id,
        is_paused: dag.is_paused,
        is_stale: dag.is_stale,
        has_import_errors: dag.has_import_errors,
        max_active_runs: Some(dag.max_active_runs),
        active_runs: dag.active,
        active_backfill_runs: dag.active_backfill,
        next_dagrun_create_after: due,
        next_dagrun: due,
        next_dagrun_data_interval: due.map(DataInterval::exact),
        next_dagrun_partition_key: None,
        next_dagrun_partition_date: None,
        next_dagrun_exists: false,
        timetable_partitioned: false,
        allowed_run_types: None,
        assets_triggered_at: match queue {
            Some(QueueVerdict::Ready(at)) => Some(*at),
            _ => None,
        },
        got_partition_run: false,
        last_scheduled_at: None,
        last_asset_triggered_at: None,
    }
}

#[test]
fn the_runs_that_airflow_starts_are_started() {
    let recorded = recorded().starts;
    let total: usize = recorded.iter().map(|start| start.started.len()).sum();
    assert!(total >= 200, "{total}");
    for start in &recorded {
        for limit in [1, 4, 100] {
            assert_eq!(start_all(start, limit), start.started);
        }
    }
}

/// Starts what can, a few at a time, until nothing can.
fn start_all(recorded: &Start, limit: usize) -> Vec<String> {
    let dags: Vec<start::DagFacts<'_>> = recorded.dags.iter().map(start_dag).collect();
    let backfills: Vec<start::BackfillFacts> = recorded.backfills.iter().map(start_backfill).collect();
    let mut running: BTreeSet<&str> =
        recorded.runs.iter().filter(|run| run.state == "running").map(|run| run.run_id.as_str()).collect();
    let mut started = BTreeSet::new();
    loop {
        let (busy, queued): (Vec<&StartRun>, Vec<&StartRun>) =
            recorded.runs.iter().partition(|run| running.contains(run.run_id.as_str()));
        let queued: Vec<start::QueuedRun<'_>> = queued.into_iter().map(queued_run).collect();
        let busy: Vec<start::Running<'_>> = busy.into_iter().map(running_run).collect();
        let snapshot =
            start::Snapshot { queued: &queued, dags: &dags, backfills: &backfills, running: &busy };
        let decisions = start::decide(&snapshot, at(NOW), limit);
        let before = started.len();
        let starting = decisions.iter().filter(|decision| decision.verdict == start::Verdict::Start);
        started.extend(starting.map(|decision| decision.run_id.to_owned()));
        if started.len() == before {
            return started.into_iter().collect();
        }
        let now_running = recorded.runs.iter().filter(|run| started.contains(&run.run_id));
        running.extend(now_running.map(|run| run.run_id.as_str()));
    }
}

fn start_dag(dag: &StartDag) -> start::DagFacts<'_> {
    start::DagFacts {
        dag_id: &dag.dag_id,
        is_paused: dag.is_paused,
        is_stale: dag.is_stale,
        max_active_runs: Some(dag.max_active_runs),
    }
}

fn start_backfill(backfill: &StartBackfill) -> start::BackfillFacts {
    start::BackfillFacts {
        id: backfill.id,
        is_paused: backfill.is_paused,
        is_completed: false,
        max_active_runs: backfill.max_active_runs,
    }
}

fn queued_run(run: &StartRun) -> start::QueuedRun<'_> {
    start::QueuedRun {
        dag_id: &run.dag_id,
        run_id: &run.run_id,
        backfill_id: run.backfill,
        sort_ordinal: run.ordinal,
        run_after: time(&run.after).unwrap(),
        has_definition: true,
    }
}

fn running_run(run: &StartRun) -> start::Running<'_> {
    start::Running { dag_id: &run.dag_id, backfill_id: run.backfill, count: 1, last_started: None }
}
