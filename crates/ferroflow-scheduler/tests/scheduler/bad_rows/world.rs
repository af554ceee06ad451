//! A working database: DAGs of every kind, in the midst of their runs, whose scheduler was killed.

use ferroflow_db::{ScopedFutureExt as _, Tx};
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::timetable::DataInterval;
use ferroflow_scheduler::create_run::{NewRun, create};
use ferroflow_scheduler::run::Definition;
use ferroflow_testkit::rows::a_dag;
use ferroflow_testkit::{Server, TestDb};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::bad_rows::life::{Life, Tasks};
use crate::bad_rows::place::{Place, Plan, at, cron, daily, on_asset};
use crate::bad_rows::sketch::Sketch;

/// The DAGs, and their tasks. What a name says is in `life.rs`.
const DAGS: [(&str, &str); 18] = [
    ("abandoned", "left; after < left"),
    ("asking", "asks; after < asks"),
    ("backfilled", "a"),
    ("branching", "branch; one < branch; other < branch; left < one"),
    ("by_alias", "a"),
    ("by_name", "a"),
    ("by_uri", "a"),
    ("consumer", "a"),
    ("daily", "a; left < a"),
    ("deferring", "waits; after < waits"),
    ("expanding", "push; left < push; each < left, push; sum < each"),
    ("fresh", "a; b < a"),
    ("half_made", "a"),
    ("hung", "hung; after < hung"),
    ("late", "left"),
    ("overlapping", "left"),
    ("producer", "left; writes < left"),
    ("retried", "again; looks; after < again, looks"),
];

/// The DAGs that get a run from somebody.
const TRIGGERED: [&str; 9] =
    ["abandoned", "asking", "branching", "deferring", "expanding", "hung", "late", "producer", "retried"];

/// The DAG with a backfill whose maker is gone, and how many runs it gets: one of its schedule, and those of the backfill.
pub(crate) const HALF_MADE: &str = "half_made";
pub(crate) const RUNS_OF_HALF_MADE: usize = 3;

/// The deadline that each run of the daily DAG has: it is far.
const ALERT: &str = "0191e8a0-0000-7000-8000-000000000005";

/// When the first scheduler starts, and when the second one does, long after the first was killed.
const FIRST: &str = "2024-01-04T00:00:10";
pub(crate) const SECOND: &str = "2024-01-04T00:05:00";

/// The database, when the first scheduler is dead.
pub(crate) async fn working(server: Server) -> TestDb {
    let place = Place::new(server, &DAGS.map(|(dag_id, words)| plan(dag_id, words))).await;
    let now = at(FIRST);
    prepare(&place, now).await;
    for dag_id in TRIGGERED {
        trigger(&place, dag_id, "manual", None, now).await;
    }
    for (dag_id, backfill) in [("backfilled", 1), ("overlapping", 2)] {
        for number in [1, 2] {
            trigger(&place, dag_id, "backfill", Some((backfill, number)), now).await;
        }
    }
    let mut life = Life::begin(&place, "first", Tasks::AsNamed, now).await;
    for _ in 0..5 {
        life.cycle().await.unwrap();
    }
    let end = life.now;
    life.end().await;
    // What has happened since then: nobody has looked at it.
    trigger(&place, "fresh", "manual", None, end).await;
    let asset = id(&place, "SELECT id AS answer FROM asset WHERE name = 'aliased'").await;
    place.change(asset, "aliased", end).await;
    for statement in leftovers(&place, asset).await {
        place.database.execute(statement).await;
    }
    place.db.close().await;
    place.database
}

fn plan(dag_id: &str, words: &str) -> Plan {
    let timetable = match dag_id {
        "daily" => daily(),
        "half_made" => cron("0 0 1 * *"),
        "consumer" => on_asset("x"),
        "by_alias" => triggered(&json!({"__type": "asset_alias", "name": "alias", "group": "asset"})),
        "by_name" => triggered(&json!({"__type": "asset_ref", "name": "x"})),
        "by_uri" => triggered(&json!({"__type": "asset_ref", "uri": "x"})),
        _ => json!({"__type": "airflow.timetables.simple.NullTimetable", "__var": {}}),
    };
    // The past that is made up for is before that of the others.
    let is_past = dag_id == HALF_MADE;
    let start = at(if is_past { "2023-01-01" } else { "2024-01-02" }).as_second();
    let deadlines = if dag_id == "daily" { vec![ALERT] } else { Vec::new() };
    let mut sketch = Sketch::of(words)
        .setting("deadline", json!(deadlines))
        .setting("timetable", timetable)
        .setting("start_date", json!(start))
        .setting("catchup", json!(!is_past));
    let tasks = words.split(';').map(|word| word.split('<').next().unwrap().trim());
    for task in tasks {
        sketch = sketch
            .with(task, "pool", json!(format!("pool_{dag_id}")))
            .with(task, "retries", json!(1))
            .with(task, "retry_delay", json!(5));
        if dag_id == "daily" {
            sketch = sketch.with(task, "depends_on_past", json!(true));
        }
        match task {
            "branch" => sketch = sketch.with(task, "_can_skip_downstream", json!(true)),
            "looks" => {
                sketch = sketch.with(task, "_is_sensor", json!(true)).with(task, "reschedule", json!(true));
            }
            "each" => sketch = sketch.mapped_over(task, "push"),
            "sum" => sketch = sketch.mapped_over(task, "each"),
            "one" => sketch = sketch.with(task, "max_active_tis_per_dag", json!(1)),
            _ => {}
        }
    }
    let mut row = a_dag(dag_id);
    (row.has_task_concurrency_limits, row.max_active_runs) = (dag_id == "branching", Some(1));
    Plan { sketch, row, known_since: at("2024-01-02") }
}

fn triggered(condition: &Value) -> Value {
    let fields = json!({"asset_condition": condition});
    json!({"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": fields})
}

/// Pools, assets and backfills.
async fn prepare(place: &Place, now: Timestamp) {
    for (dag_id, _) in DAGS {
        let columns = "pool, slots, description, include_deferred";
        let values = format!("'pool_{dag_id}', 16, '', {}", dag_id == "branching");
        place.database.execute(format!("INSERT INTO slot_pool ({columns}) VALUES ({values})")).await;
    }
    let x = place.asset("x", &["consumer"], now).await;
    let aliased = place.asset("aliased", &[], now).await;
    let time = "'2024-01-01 00:00:00'";
    let key = if place.db.dialect() == ferroflow_db::Dialect::MariaDb { "`key`" } else { "\"key\"" };
    let group = if place.db.dialect() == ferroflow_db::Dialect::MariaDb { "`group`" } else { "\"group\"" };
    for statement in [
        format!("INSERT INTO asset_alias (id, name, {group}) VALUES (1, 'alias', 'asset')"),
        format!("INSERT INTO asset_alias_asset (alias_id, asset_id) VALUES (1, {aliased})"),
        format!(
            "INSERT INTO dag_schedule_asset_alias_reference (alias_id, dag_id, created_at, updated_at) VALUES (1, \
             'by_alias', {time}, {time})"
        ),
        format!(
            "INSERT INTO dag_schedule_asset_name_reference (name, dag_id, created_at) VALUES ('x', 'by_name', {time})"
        ),
        format!(
            "INSERT INTO task_outlet_asset_reference (asset_id, dag_id, task_id, created_at, updated_at) VALUES ({x}, \
             'producer', 'writes', {time}, {time})"
        ),
        format!(
            "INSERT INTO dag_schedule_asset_uri_reference (uri, dag_id, created_at) VALUES ('x', 'by_uri', {time})"
        ),
        format!(
            "INSERT INTO task_inlet_asset_reference (asset_id, dag_id, task_id, created_at, updated_at) VALUES ({x}, \
             'producer', 'writes', {time}, {time})"
        ),
        a_backfill(1, "backfilled", time),
        a_backfill(2, "overlapping", time),
        alert(place, time),
        format!(
            "INSERT INTO asset_state_store (asset_id, {key}, value, updated_at) VALUES ({x}, 'seen', '1', {time})"
        ),
    ] {
        place.database.execute(statement).await;
    }
    // Whoever waits for the alias is told of what it stands for.
    place.change(x, "x", now).await;
}

/// One of which a run may run at once.
fn a_backfill(id: i32, dag_id: &str, time: &str) -> String {
    format!(
        "INSERT INTO backfill (id, dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, \
         max_active_runs, created_at, updated_at) VALUES ({id}, '{dag_id}', '2023-10-01 00:00:00', {time}, '{{}}', \
         false, 'none', 1, {time}, {time})"
    )
}

/// A run that somebody asks for, or one of a backfill, with its place there.
async fn trigger(place: &Place, dag_id: &str, kind: &str, backfill: Option<(i32, i32)>, now: Timestamp) {
    let number = backfill.map_or(1, |(_, number)| number);
    let date = now + SignedDuration::from_secs(i64::from(number));
    let run = &NewRun {
        dag_id: dag_id.to_owned(),
        run_id: format!("{kind}__{number}"),
        run_type: if backfill.is_some() { RunType::Backfill } else { RunType::Manual },
        logical_date: Some(date),
        data_interval: Some(DataInterval { start: date, end: date }),
        run_after: now,
        state: RunState::Queued,
        start_date: None,
        conf: json!({"x": 1}).as_object().cloned(),
        triggered_by: TriggeredBy::Cli,
        triggering_user_name: None,
        note: None,
        partition_key: None,
        partition_date: None,
        backfill_id: backfill.map(|(id, _)| id.into()),
        creating_job_id: None,
        bundle_version: None,
        unixname: "somebody".to_owned(),
    };
    let made = place.db.transact(|tx| make(tx, run, now).scope_boxed()).await.unwrap();
    if let Some((id, number)) = backfill {
        place
            .database
            .execute(format!(
                "INSERT INTO backfill_dag_run (backfill_id, dag_run_id, sort_ordinal) VALUES ({id}, {made}, {number})"
            ))
            .await;
    }
}

async fn make(tx: &mut Tx, run: &NewRun, now: Timestamp) -> Result<i64, ferroflow_db::Error> {
    let definition = Definition::latest(tx, &run.dag_id).await.unwrap();
    let made = create(tx, definition.dag(), &definition.version, run, now).await.unwrap();
    Ok(made.id)
}

/// Rows that others leave: a deadline that is missed, callbacks, a partition that waits, an asset that has changed and one
/// that is watched, and a backfill whose maker is gone.
async fn leftovers(place: &Place, asset: i64) -> Vec<String> {
    let run = id(place, "SELECT id AS answer FROM dag_run WHERE dag_id = 'late'").await;
    let (time, end) = ("'2024-01-01 00:00:00'", "'2024-01-04 00:01:30'");
    let data = "{\"__type\": \"dict\", \"__var\": {\"path\": \"a.b\", \"kwargs\": {\"__type\": \"dict\", \"__var\": {}}}}";
    let callback = |number: u32, kind: &str, state: &str, bundle: &str| {
        format!(
            "INSERT INTO callback (id, type, fetch_method, data, bundle_name, state, priority_weight, created_at) VALUES \
             ('{}', '{kind}', 'import_path', '{data}', {bundle}, {state}, 1, {time})",
            uuid(place, number)
        )
    };
    let mut left = vec![
        // The next job does not get the id of one that is spoilt.
        format!(
            "INSERT INTO job (state, job_type, latest_heartbeat) VALUES ('success', 'DagProcessorJob', {time})"
        ),
        callback(1, "executor", "'pending'", "NULL"),
        callback(2, "triggerer", "'scheduled'", "'dags-folder'"),
        format!(
            "INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id) \
             VALUES ('{}', {time}, {time}, {run}, {time}, false, '{}')",
            uuid(place, 3),
            uuid(place, 2)
        ),
        format!(
            "INSERT INTO asset_partition_dag_run (id, target_dag_id, partition_key, created_at, updated_at) VALUES (1, \
             'consumer', 'k', {time}, {time})"
        ),
        format!(
            "INSERT INTO partitioned_asset_key_log (asset_id, asset_event_id, asset_partition_dag_run_id, \
             source_partition_key, target_dag_id, target_partition_key, created_at) SELECT asset_id, id, 1, 'k', \
             'consumer', 'k', {time} FROM asset_event WHERE asset_id = {asset}"
        ),
        format!(
            "INSERT INTO asset_dag_run_queue (asset_id, target_dag_id, created_at) VALUES ({asset}, 'by_alias', {end})"
        ),
    ];
    left.extend(asked(place, time));
    left.extend(watched(place, asset, time));
    left.extend(half_made(time));
    left
}

/// A deadline of a DAG.
fn alert(place: &Place, time: &str) -> String {
    let interval =
        if place.db.dialect() == ferroflow_db::Dialect::MariaDb { "`interval`" } else { "\"interval\"" };
    let callback = "{\"__classname__\": \"airflow.sdk.definitions.callback.AsyncCallback\", \"__version__\": 0, \
                    \"__data__\": {\"path\": \"a.b\", \"kwargs\": {}}}";
    let (id, reference) = (uuid(place, 5), "{\"reference_type\": \"DagRunLogicalDateDeadline\"}");
    format!(
        "INSERT INTO deadline_alert (id, created_at, serialized_dag_id, name, reference, {interval}, callback_def) \
         SELECT '{id}', {time}, id, 'in_time', '{reference}', '8640000', '{callback}' FROM serialized_dag WHERE dag_id = \
         'daily'"
    )
}

/// A person who was asked and has not answered in time, and one who wants a connection to be tried.
fn asked(place: &Place, time: &str) -> [String; 3] {
    [
        "UPDATE task_instance SET state = 'awaiting_input', trigger_timeout = '2024-01-04 00:02:00', next_method = \
         'go_on' WHERE dag_id = 'asking' AND task_id = 'asks' AND state = 'queued'"
            .to_owned(),
        format!(
            "INSERT INTO hitl_detail (ti_id, options, subject, defaults, multiple, params, created_at, params_input) \
             SELECT id, '[\"yes\", \"no\"]', 'Shall it go on', '[\"yes\"]', false, '{{}}', {time}, '{{}}' FROM task_instance \
             WHERE dag_id = 'asking' AND task_id = 'asks'"
        ),
        format!(
            "INSERT INTO connection_test_request (id, token, connection_id, state, created_at, updated_at, conn_type) \
             VALUES ('{}', 'token', 'tried', 'pending', {time}, {time}, 'http')",
            uuid(place, 6)
        ),
    ]
}

/// An asset with a trigger that watches it, and events that came by its alias.
fn watched(place: &Place, asset: i64, time: &str) -> [String; 3] {
    let trigger =
        if place.db.dialect() == ferroflow_db::Dialect::MariaDb { "`trigger`" } else { "\"trigger\"" };
    [
        format!(
            "INSERT INTO {trigger} (id, classpath, kwargs, created_date) VALUES (4242, 'tests.Watcher', '{{}}', {time})"
        ),
        format!("INSERT INTO asset_watcher (name, asset_id, trigger_id) VALUES ('watcher', {asset}, 4242)"),
        format!(
            "INSERT INTO asset_alias_asset_event (alias_id, event_id) SELECT 1, id FROM asset_event WHERE asset_id = \
             {asset}"
        ),
    ]
}

/// Of its two dates none is decided.
fn half_made(time: &str) -> Vec<String> {
    let mut left = vec![a_backfill(3, HALF_MADE, time)];
    left.push("UPDATE backfill SET is_paused = true WHERE id = 3".to_owned());
    for (ordinal, date) in [(1, "2023-10-01"), (2, "2023-11-01")] {
        left.push(format!(
            "INSERT INTO backfill_dag_run (backfill_id, exception_reason, logical_date, sort_ordinal) VALUES (3, \
             'unknown', '{date} 00:00:00', {ordinal})"
        ));
    }
    left
}

/// An id as the database writes it.
fn uuid(place: &Place, number: u32) -> String {
    let text = format!("0191e8a0-0000-7000-8000-{number:012}");
    if place.db.dialect() == ferroflow_db::Dialect::Postgres { text } else { text.replace('-', "") }
}

async fn id(place: &Place, question: &str) -> i64 {
    let question = question.replace("SELECT id", "SELECT CAST(id AS CHAR(20))");
    place.texts(&question).await[0].trim().parse().unwrap()
}
