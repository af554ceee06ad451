//! What the calls are about: DAGs, runs, assets, and a task instance for each call.

use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Error, Json, ScopedFutureExt as _, Tx, asset, dag_bundle};
use ferroflow_model::asset::{Asset, AssetAlias};
use ferroflow_model::state::TaskState;
use ferroflow_model::stored_assets::{Access, Reference};
use ferroflow_testkit::rows::{a_dag, a_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use uuid::Uuid;

/// When everything in the seed was.
pub(crate) const THEN: Timestamp = Timestamp::constant(1_700_000_000, 0);

/// A task instance to begin with.
#[derive(Clone)]
pub(crate) struct Seeded {
    pub(crate) instance: TaskInstance,
    /// Statements about it, with its id (as text without dashes) for `{id}`.
    pub(crate) more: Vec<String>,
}

/// An instance of the task `t` in a run: one for each number.
pub(crate) fn instance(number: i32, run_id: &str, state: Option<TaskState>) -> Seeded {
    let key = TaskInstanceKey {
        dag_id: "dag".to_owned(),
        run_id: run_id.to_owned(),
        task_id: "t".to_owned(),
        map_index: number,
    };
    let id = Uuid::from_u128(1000 + u128::try_from(number).unwrap());
    let instance = TaskInstance {
        state,
        try_number: 1,
        start_date: Some(THEN),
        hostname: Some("host".to_owned()),
        unixname: Some("user".to_owned()),
        pid: Some(7),
        ..TaskInstance::new(id, key, THEN)
    };
    Seeded { instance, more: Vec::new() }
}

pub(crate) async fn seeded(server: Server, instances: &[Seeded]) -> TestDb {
    let database = TestDb::migrated(server).await;
    let db = database.connect().await;
    db.transact(|tx| async move { seed(tx, instances).await }.scope_boxed()).await.unwrap();
    let quote = if server == Server::MariaDb { '`' } else { '"' };
    for seeded in instances {
        for statement in &seeded.more {
            let id = seeded.instance.id.simple().to_string();
            let statement = statement.replace("{id}", &id).replace('^', &quote.to_string());
            database.execute(statement).await;
        }
    }
    db.close().await;
    database
}

async fn seed(tx: &mut Tx, instances: &[Seeded]) -> Result<(), Error> {
    dag_bundle::insert_if_missing(tx, "dags-folder").await?;
    seed_dags(tx).await?;
    seed_assets(tx).await?;
    for (run_id, partition_key, days) in
        [("run", None, 0), ("part", Some("2023-11-14T05"), 1), ("odd", Some("odd"), 2), ("late", None, 3)]
    {
        let run = NewDagRun {
            partition_key: partition_key.map(str::to_owned),
            partition_date: partition_key.map(|_| THEN),
            ..a_run("dag", run_id, THEN + (days * 24).hours())
        };
        dag_run::insert(tx, &run, THEN).await?;
    }
    for (run_id, days) in [("one", 0), ("two", 1), ("three", 2)] {
        dag_run::insert(tx, &a_run("fast", run_id, THEN + (days * 24).hours()), THEN).await?;
    }
    for seeded in instances {
        task_instance::insert(tx, &seeded.instance).await?;
    }
    Ok(())
}

async fn seed_dags(tx: &mut Tx) -> Result<(), Error> {
    let nothing = json!({"__type": "airflow.timetables.simple.NullTimetable", "__var": {}});
    let fast = Dag { fail_fast: true, ..a_dag("fast") };
    for (dag, timetable) in [
        (a_dag("dag"), nothing.clone()),
        (fast, nothing.clone()),
        (a_dag("by_asset"), nothing.clone()),
        (a_dag("by_name"), nothing.clone()),
        (a_dag("by_uri"), nothing.clone()),
        (a_dag("by_alias"), nothing.clone()),
        (Dag { is_paused: true, ..a_dag("paused") }, nothing),
        (partitioned("keys"), partitions(&mapper("identity.IdentityMapper", &json!({})))),
        (partitioned("days"), partitions(&start_of_day())),
        (partitioned("hours"), partitions(&fan_out())),
    ] {
        dag::insert(tx, &dag).await?;
        let version = NewDagVersion {
            dag_id: dag.dag_id.clone(),
            bundle_name: Some("dags-folder".to_owned()),
            bundle_version: None,
            version_data: None,
        };
        let stored = NewSerializedDag {
            dag_id: dag.dag_id.clone(),
            dag_version_id: dag_version::insert(tx, &version, THEN).await?,
            dag_hash: "0".repeat(32),
            data: Json::from(serialized(&dag, &timetable)),
        };
        serialized_dag::insert(tx, &stored, false, THEN).await?;
    }
    Ok(())
}

fn partitioned(dag_id: &str) -> Dag {
    Dag { timetable_partitioned: true, ..a_dag(dag_id) }
}

fn mapper(class: &str, data: &Value) -> Value {
    json!({"__type": format!("airflow.partition_mappers.{class}"), "__var": data})
}

fn start_of_day() -> Value {
    let data = json!({"timezone": "UTC", "input_format": "%Y-%m-%dT%H", "output_format": "%Y-%m-%d"});
    mapper("temporal.StartOfDayMapper", &data)
}

/// More keys than are allowed.
fn fan_out() -> Value {
    let hours = json!({"timezone": "UTC", "input_format": "%Y-%m-%dT%H", "output_format": "%Y-%m-%dT%H"});
    let data = json!({
        "upstream_mapper": start_of_day(),
        "window": {"__type": "airflow.partition_mappers.window.DayWindow", "__var": {"direction": "forward"}},
        "downstream_mapper": mapper("temporal.StartOfHourMapper", &hours),
        "max_downstream_keys": 5,
    });
    mapper("temporal.FanOutMapper", &data)
}

fn partitions(default_mapper: &Value) -> Value {
    json!({"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": {
        "asset_condition": asset_document("keyed"), "partition_mapper_config": [],
        "default_partition_mapper": default_mapper,
    }})
}

/// An asset, as timetables have it.
fn asset_document(name: &str) -> Value {
    json!({"__type": "asset", "name": name, "uri": format!("s3://{name}"), "group": "asset", "extra": {}})
}

/// An asset, as tasks have it.
fn outlet(name: &str) -> Value {
    let asset = json!({"name": name, "uri": format!("s3://{name}"), "group": "asset", "extra": {}});
    json!({"__type": "asset", "__var": asset})
}

async fn seed_assets(tx: &mut Tx) -> Result<(), Error> {
    let access = Access { teams: Value::Null, allow_global: true };
    for name in ["first", "second", "keyed", "unused"] {
        let uri = format!("s3://{name}");
        let asset = Asset {
            name: name.to_owned(),
            uri: uri.clone(),
            group: "asset".to_owned(),
            extra: Json::from(json!({"of": name})),
            watchers: Vec::new(),
            access_control: None,
        };
        let asset_id = asset::insert_if_missing(tx, &asset, THEN).await?.id;
        if name != "unused" {
            asset::active::insert_unless_claimed(tx, (name, &uri)).await?;
        }
        let listeners: &[&str] = match name {
            "first" => &["by_asset", "paused"],
            "keyed" => &["by_asset", "keys", "days", "hours"],
            _ => &[],
        };
        for dag_id in listeners {
            let reference = Reference::Schedule { dag_id: (*dag_id).to_owned(), asset_id };
            asset::reference::insert(tx, &reference, &access, THEN).await?;
        }
    }
    let alias = AssetAlias { name: "alias".to_owned(), group: "g".to_owned() };
    let alias_id = asset::alias::insert_if_missing(tx, &alias).await?.id;
    for reference in [
        Reference::ScheduleAlias { dag_id: "by_alias".to_owned(), alias_id },
        Reference::ScheduleName { dag_id: "by_name".to_owned(), name: "second".to_owned() },
        Reference::ScheduleUri { dag_id: "by_uri".to_owned(), uri: "s3://second".to_owned() },
    ] {
        asset::reference::insert(tx, &reference, &access, THEN).await?;
    }
    Ok(())
}

/// A DAG with the task `t`, one that follows, and one that cleans up.
fn serialized(dag: &Dag, timetable: &Value) -> Value {
    let task = |task_id: &str, more: Value| {
        let mut task = json!({
            "task_id": task_id, "task_type": "EmptyOperator",
            "_task_module": "airflow.providers.standard.operators.empty",
            "downstream_task_ids": [], "template_fields": [], "template_ext": [], "template_fields_renderers": {},
            "ui_color": "#fff", "ui_fgcolor": "#000", "_needs_expansion": false,
        });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"__type": "operator", "__var": task})
    };
    let group = json!({
        "_group_id": null, "group_display_name": "", "prefix_group_id": true,
        "children": {"t": ["operator", "t"], "next": ["operator", "next"], "clean": ["operator", "clean"]},
        "tooltip": "", "ui_color": "CornflowerBlue", "ui_fgcolor": "#000", "upstream_group_ids": [],
        "downstream_group_ids": [], "upstream_task_ids": [], "downstream_task_ids": [],
    });
    let outlets = json!({"outlets": [outlet("first"), outlet("unused")], "inlets": [outlet("nowhere")]});
    let told = json!({
        "retries": 2, "has_on_retry_callback": true, "has_on_failure_callback": true, "owner": "somebody",
        "email": ["a@b.c"], "email_on_retry": true, "email_on_failure": true,
    });
    let mut t = outlets;
    t.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
    json!({
        "__version": 3,
        "dag": {
            "dag_id": dag.dag_id, "fileloc": dag.fileloc, "relative_fileloc": dag.relative_fileloc,
            "timezone": "UTC", "timetable": timetable, "fail_fast": dag.fail_fast,
            "tasks": [task("t", t), task("next", json!({})), task("clean", json!({"is_teardown": true}))],
            "dag_dependencies": [], "params": [], "edge_info": {}, "task_group": group, "catchup": false,
        },
    })
}
