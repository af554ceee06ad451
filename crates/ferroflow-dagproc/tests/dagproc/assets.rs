//! The assets of DAG files, stored beside the official Airflow: histories that it was seen to write, played again.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::Read as _;
use std::sync::Arc;

use ferroflow_dagproc::store::assets::{AssetChanges, Settings, sync};
use ferroflow_dagproc::store::sweep::{forget_stale_dags, unwatch};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::{Db, ScopedFutureExt as _, asset, dag, dag_bundle};
use ferroflow_model::dag::Dag;
use ferroflow_model::stored_assets::DagAssets;
use ferroflow_testkit::{Airflow, Server, TestDb, repository, rows};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Barrier;

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";

/// Rows that Airflow leaves behind and ferroflow deletes: history, step, table, rows.
const LEFT_BEHIND: &[(&str, &str, &str, &[&str])] = &[
    (
        "assets",
        "none has any",
        "task_inlet_asset_reference",
        &[r#"["producer", "plain", "c|s3://bucket/c"]"#],
    ),
    ("aliases", "none", "dag_schedule_asset_alias_reference", &[r#"["consumer", "y"]"#]),
    ("conditions", "or time", "dag_schedule_asset_alias_reference", &[r#"["one", "x"]"#]),
    ("conditions", "or time", "dag_schedule_asset_name_reference", &[r#"["one", "n"]"#]),
    ("conditions", "partitioned", "dag_schedule_asset_alias_reference", &[r#"["one", "x"]"#]),
    ("conditions", "partitioned", "dag_schedule_asset_name_reference", &[r#"["one", "n"]"#]),
    ("conditions", "time", "dag_schedule_asset_name_reference", &[r#"["one", "n"]"#]),
    ("conditions", "again", "dag_schedule_asset_name_reference", &[r#"["one", "n"]"#]),
    ("references", "none in one", "dag_schedule_asset_name_reference", &[r#"["one", "n"]"#]),
    ("references", "none in one", "dag_schedule_asset_uri_reference", &[r#"["one", "s3://bucket/u"]"#]),
    ("references", "none", "dag_schedule_asset_name_reference", &[r#"["one", "n"]"#, r#"["two", "m"]"#]),
    ("references", "none", "dag_schedule_asset_uri_reference", &[r#"["one", "s3://bucket/u"]"#]),
];

/// Where Airflow loses new watchers of an asset that also has old ones to lose, and finds them when the file is stored
/// again, which is the next step: history, step.
const LATE: &[(&str, &str)] = &[("watchers", "another argument"), ("watchers", "every type")];

#[derive(Deserialize)]
struct Recording {
    histories: Vec<History>,
}

#[derive(Deserialize)]
struct History {
    name: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    name: String,
    before: Vec<String>,
    documents: Vec<String>,
    #[serde(default)]
    is_removing_stale: bool,
    rows: Map<String, Value>,
}

#[tokio::test]
async fn every_step_of_every_history_ends_as_in_airflow() {
    let (mut urls, mut expected) = (Vec::new(), Vec::new());
    let snapshots = tempfile::tempdir().unwrap();
    for history in recording() {
        let database = TestDb::migrated(Server::Sqlite).await;
        let db = database.connect().await;
        for step in &history.steps {
            play(&database, &db, step).await;
            let path = snapshots.path().join(format!("{}.db", urls.len()));
            database.execute(format!("VACUUM INTO '{}'", path.display())).await;
            urls.push(format!("sqlite:///{}", path.display()));
        }
        expected.extend(expected_rows(&history));
    }
    assert!(expected.len() > 40);
    compare(&urls, &expected);
}

ferroflow_testkit::on_every_database!(
    rows_are_airflows_in_the_middle_and_at_the_end,
    processors_that_meet_over_new_assets_all_succeed,
    a_trigger_that_a_task_waits_for_is_not_shared,
);

/// A few histories, stopped where there is most to see.
async fn rows_are_airflows_in_the_middle_and_at_the_end(server: Server) {
    let (mut databases, mut urls, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for (name, last) in [
        ("assets", "group and extra"),
        ("references", "fewer"),
        ("conflicts", "at once"),
        ("watchers", "every type again"),
        ("teams", "fewer"),
        ("stale", "back"),
    ] {
        let history = recording().into_iter().find(|history| history.name == name).unwrap();
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        let last = history.steps.iter().position(|step| step.name == last).unwrap();
        for step in &history.steps[..=last] {
            play(&database, &db, step).await;
        }
        expected.push(expected_rows(&history).swap_remove(last));
        db.close().await;
        urls.push(database.url());
        databases.push(database);
    }
    assert_eq!(expected.len(), databases.len());
    compare(&urls, &expected);
}

async fn processors_that_meet_over_new_assets_all_succeed(server: Server) {
    const PROCESSORS: usize = 6;
    let database = TestDb::migrated(server).await;
    let steps = recording().into_iter().find(|history| history.name == "assets").unwrap().steps;
    let consumer = Arc::new(Dag::decode(&steps[0].documents[0]).unwrap());
    let barrier = Arc::new(Barrier::new(PROCESSORS));
    let mut tasks = Vec::new();
    for number in 0..PROCESSORS {
        let db = database.connect().await;
        let (consumer, barrier) = (consumer.clone(), barrier.clone());
        add_dag(&db, &format!("dag {number}")).await;
        tasks.push(tokio::spawn(async move {
            barrier.wait().await;
            let dag_id = format!("dag {number}");
            let dags = [DagAssets { dag_id: &dag_id, ..DagAssets::of(&consumer) }];
            store(&db, &dags).await
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let expected = (0..PROCESSORS).flat_map(|number| {
        ["a|s3://bucket/a", "b|s3://bucket/b"].map(|asset| json!([format!("dag {number}"), asset, [], true]))
    });
    let found = read(&[database.url()]).remove(0);
    assert_eq!(found["dag_schedule_asset_reference"], expected.collect::<Value>());
    assert_eq!(found["asset"].as_array().unwrap().len(), 2);
    assert_eq!(found["asset_active"].as_array().unwrap().len(), 2);
}

async fn a_trigger_that_a_task_waits_for_is_not_shared(server: Server) {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    let steps = recording().into_iter().find(|history| history.name == "shared triggers").unwrap().steps;
    let trigger = if server == Server::MariaDb { "`trigger`" } else { "\"trigger\"" };
    // Of two that would do, one belongs to a callback.
    for id in [7, 8] {
        let kwargs = Fernet::new(KEY).unwrap().encrypt(r#"{"queue": "1"}"#, NOW).text;
        database
            .execute(format!(
                "INSERT INTO {trigger} (id, classpath, kwargs, created_date) \
                 VALUES ({id}, 'site.triggers.Queue', '{kwargs}', '2026-01-01 00:00:00')"
            ))
            .await;
    }
    database
        .execute(
            "INSERT INTO callback (id, type, fetch_method, data, state, priority_weight, created_at, trigger_id) \
             VALUES ('0192a1b2-c3d4-7e8f-9a0b-1c2d3e4f5a6b', 'triggerer', 'import_path', '{}', 'scheduled', 1, \
             '2026-01-01 00:00:00', 7)",
        )
        .await;
    play(&database, &db, &steps[0]).await;
    let fernet = Fernet::new(KEY).unwrap();
    let fernet = &fernet;
    let found =
        db.read(|tx| async move { asset::watcher::find_by_assets(tx, fernet, &[1, 2]).await }.scope_boxed());
    let watching: Vec<i64> = found.await.unwrap().iter().map(|watcher| watcher.trigger_id).collect();
    assert_eq!(watching, [8, 8]);
}

#[tokio::test]
async fn the_official_triggerer_and_processor_take_our_triggers_as_their_own() {
    let answer = official_answer(every_type()).await;
    assert_eq!(answer["before"], answer["after"], "the official processor finds nothing to change");
    assert_eq!(
        answer["kwargs"],
        json!([{
            "word": "'é'",
            "number": "1.5",
            "at": "datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)",
            "wait": "datetime.timedelta(seconds=90)",
            "pair": "(1, 2)",
            "many": "set of ['a', 'b']",
            "inside": "{'list': [1, {'k': 'v'}], 'none': None}",
            "list": "['a', 1, None]",
        }])
    );
}

/// Airflow encodes them twice, and its triggerer hands what is left of that to the trigger.
#[tokio::test]
async fn objects_in_a_list_reach_the_trigger_as_they_were() {
    let mut step = every_type();
    let edited = r#""list": ["a", {"__type": "dict", "__var": {"k": {"__type": "tuple", "__var": [1]}}}]"#;
    let document = step.documents[0].replace(r#""list": ["a", 1, null]"#, edited);
    assert_ne!(document, step.documents[0]);
    step.documents = vec![document];
    assert_eq!(official_answer(step).await["kwargs"][0]["list"], "['a', {'k': (1,)}]");
}

fn every_type() -> Step {
    let history = recording().into_iter().find(|history| history.name == "watchers").unwrap();
    history.steps.into_iter().find(|step| step.name == "every type").unwrap()
}

/// What the official code finds in a database where we have stored a file, and does when it stores the same.
async fn official_answer(step: Step) -> Value {
    let database = TestDb::migrated(Server::Sqlite).await;
    let db = database.connect().await;
    play(&database, &db, &step).await;
    let input = json!(step.documents).to_string();
    let script = "testdata/assets/official_processor.py";
    let answer = airflow(&database.url()).python(script, &[], &input).expect_success();
    serde_json::from_str(answer.lines().last().unwrap()).unwrap()
}

fn recording() -> Vec<History> {
    let file = std::fs::File::open(repository("testdata/assets/assets.json.gz")).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    serde_json::from_str::<Recording>(&text).unwrap().histories
}

/// Stores a file, and once more, which changes nothing.
async fn play(database: &TestDb, db: &Db, step: &Step) {
    for statement in &step.before {
        database.execute(statement).await;
    }
    let decoded: Vec<Dag> = step.documents.iter().map(|text| Dag::decode(text).unwrap()).collect();
    for dag in &decoded {
        add_dag(db, &dag.dag_id).await;
        database.execute(format!("UPDATE dag SET is_stale = false WHERE dag_id = '{}'", dag.dag_id)).await;
    }
    let dags: Vec<DagAssets<'_>> = decoded.iter().map(DagAssets::of).collect();
    if !dags.is_empty() {
        store(db, &dags).await;
        assert_eq!(store(db, &dags).await, AssetChanges::default(), "{}, again", step.name);
    }
    if step.is_removing_stale {
        for is_anything_left in [true, false] {
            let forgotten =
                db.transact_in_parts(|tx| async move { forget_stale_dags(tx).await }.scope_boxed());
            let forgotten = forgotten.await.unwrap().rows;
            let unwatched = db.transact_in_parts(|tx| async move { unwatch(tx).await }.scope_boxed());
            assert_eq!(forgotten + unwatched.await.unwrap().rows > 0, is_anything_left);
        }
    }
}

async fn store(db: &Db, dags: &[DagAssets<'_>]) -> AssetChanges {
    let fernet = Fernet::new(KEY).unwrap();
    let settings = &Settings { fernet: &fernet, team_of_bundle: Some("dags-folder") };
    db.transact(|tx| async move { sync(tx, dags, settings, NOW).await }.scope_boxed()).await.unwrap()
}

async fn add_dag(db: &Db, dag_id: &str) {
    let adding = db.transact(|tx| {
        async move {
            dag_bundle::insert_if_missing(tx, "dags-folder").await?;
            if dag::find(tx, dag_id).await?.is_none() {
                dag::insert(tx, &rows::a_dag(dag_id)).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    adding.await.unwrap();
}

/// Airflow gives the watchers of all assets that share a new trigger the name that the last of them has for it.
fn name_watchers_as_their_assets_do(watchers: &mut Value) {
    let first = watchers.as_array_mut().unwrap().first_mut().unwrap();
    assert_eq!(
        (&first[0], &first[1]),
        (&json!("a|a"), &json!("v")),
        "Airflow takes the name of another asset"
    );
    first[1] = json!("w");
}

/// What should be there after each step of a history.
fn expected_rows(history: &History) -> Vec<(String, Map<String, Value>)> {
    let mut expected = Vec::new();
    for (place, step) in history.steps.iter().enumerate() {
        let mut rows = step.rows.clone();
        let here = (history.name.as_str(), step.name.as_str());
        if LATE.contains(&here) {
            let watchers = &history.steps[place + 1].rows["asset_watcher"];
            assert_ne!(*watchers, rows["asset_watcher"], "Airflow is late");
            rows["asset_watcher"] = watchers.clone();
        }
        if history.name == "shared triggers" {
            name_watchers_as_their_assets_do(&mut rows["asset_watcher"]);
        }
        for (_, _, table, left) in LEFT_BEHIND.iter().filter(|one| (one.0, one.1) == here) {
            let table = rows[*table].as_array_mut().unwrap();
            for text in *left {
                let row: Value = serde_json::from_str(text).unwrap();
                let place = table.iter().position(|one| *one == row).expect("Airflow leaves it behind");
                table.remove(place);
            }
        }
        expected.push((format!("{}: {}", history.name, step.name), rows));
    }
    expected
}

fn compare(urls: &[String], expected: &[(String, Map<String, Value>)]) {
    let mut different = Vec::new();
    for (found, (name, expected)) in read(urls).iter().zip(expected) {
        for (table, rows) in expected {
            let found = &found[table];
            if found != rows {
                different.push(format!("{name}: {table}: {found} instead of {rows}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// What Airflow's own models say is in these databases.
fn read(urls: &[String]) -> Vec<Map<String, Value>> {
    let answer = airflow(&urls[0]).python("testdata/assets/rows.py", &[], &json!(urls).to_string());
    let answer = answer.expect_success();
    let rows: Vec<_> = serde_json::from_str(answer.lines().last().unwrap()).unwrap();
    assert_eq!(rows.len(), urls.len());
    rows
}

fn airflow(url: &str) -> Airflow {
    Airflow::on(url)
        .with("AIRFLOW__CORE__FERNET_KEY", KEY)
        .with("AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION", "False")
}
