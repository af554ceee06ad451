//! Partition mappers, windows and asset timetables that somebody wrote in Python: rows and runs are those that Airflow
//! makes of them, and a bad one holds up its own DAG alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_execution::api::{StateUpdate, Success};
use ferroflow_execution::{Rules, Service};
use ferroflow_operations::asset::{Change, Mappings, register};
use ferroflow_scheduler::Context;
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use serde_json::{Value, json};

use crate::user_code::site::{Site, make_runs};

ferroflow_testkit::on_every_database!(partitions_are_those_that_airflow_makes);

async fn partitions_are_those_that_airflow_makes(server: Server) {
    let steps = [
        "partitions",
        "schedule",
        "begin",
        "produce",
        "change",
        "dump_partitions",
        "schedule",
        "dump_partitions",
    ];
    let official = Site::new(server, None).await.official(&steps);
    let site = Site::new(server, None).await;
    site.official(&["partitions"]);
    let cx = site.scheduler(Duration::from_mins(2)).await;
    make_runs(&cx).await;
    site.official(&["begin"]);
    produce(&cx, true).await;
    change(&cx).await;
    let before = site.official(&["dump_partitions"]).remove(0);
    assert_same(&before, &official[0]);
    let created = make_runs(&cx).await;
    let refused = reasons(&created.refused);
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), ["loner"], "{refused:?}");
    assert!(refused["loner"].contains("does not derive from AssetTriggeredTimetable"), "{refused:?}");
    assert_same(&site.official(&["dump_partitions"]).remove(0), &official[1]);
    let made: Vec<&str> = created.created.iter().map(|run| run.dag_id.as_str()).collect();
    for dag_id in ["regions", "rollup", "enough", "most", "on_orders", "on_any"] {
        assert!(made.contains(&dag_id), "{made:?}");
    }
}

#[tokio::test]
async fn a_bad_mapper_holds_up_its_own_dag_alone() {
    let site = Site::new(Server::Sqlite, None).await;
    site.official(&["bad_partitions"]);
    let cx = site.scheduler(Duration::from_secs(20)).await;
    make_runs(&cx).await;
    site.official(&["begin"]);
    produce(&cx, true).await;
    let untold = audit_log(&cx).await;
    let told = |dag_id: &str| untold.iter().filter(|text| text.contains(dag_id)).cloned().collect::<String>();
    assert!(told("to_downstream_raises").contains("RuntimeError: the mapper is broken"), "{untold:?}");
    assert!(told("to_downstream_odd").contains("gave 1, which is not a text"), "{untold:?}");
    assert!(told("to_downstream_endless").contains("made more than 100000 keys"), "{untold:?}");
    assert!(told("to_downstream_long").contains("cannot be a key: it is too long"), "{untold:?}");
    assert!(told("to_downstream_exits").contains("ended while it was asked: exit code 3"), "{untold:?}");
    assert!(told("to_downstream_hangs").contains("gave no answer within 20s and was ended"), "{untold:?}");
    assert!(told("to_downstream_hangs").contains("is asked again at"), "who cost a process is left alone");
    assert!(!untold.iter().any(|text| text.contains("good") || text.contains("to_upstream")), "{untold:?}");

    let created = make_runs(&cx).await;
    let made: Vec<&str> = created.created.iter().map(|run| run.dag_id.as_str()).collect();
    assert!(made.iter().all(|dag_id| *dag_id == "good") && !made.is_empty(), "{made:?}");
    let refused = reasons(&created.refused);
    assert!(refused["to_upstream_raises"].contains("RuntimeError: the mapper is broken"), "{refused:?}");
    assert!(refused["to_upstream_odd"].contains("gave 1, which is not a text"), "{refused:?}");
    assert!(refused["to_upstream_exits"].contains("ended while it was asked: exit code 3"), "{refused:?}");
    assert!(refused["to_upstream_hangs"].contains("gave no answer within 20s and was ended"), "{refused:?}");
    assert_eq!(refused.len(), 4, "{refused:?}");
    let again = make_runs(&cx).await;
    let refused = reasons(&again.refused);
    assert!(refused["to_upstream_hangs"].contains("is asked again at"), "{refused:?}");
    let waiting =
        "SELECT target_dag_id AS answer FROM asset_partition_dag_run WHERE created_dag_run_id IS NULL";
    let waiting = ferroflow_db::testing::texts(&cx.db, waiting).await.unwrap();
    assert!(waiting.iter().any(|dag_id| dag_id == "to_upstream_hangs"), "what has come is kept: {waiting:?}");
}

#[tokio::test]
async fn without_python_the_reason_is_told() {
    let site = Site::new(Server::Sqlite, None).await;
    site.official(&["partitions"]);
    let mut cx = site.scheduler(Duration::from_mins(2)).await;
    make_runs(&cx).await;
    site.official(&["begin"]);
    produce(&cx, false).await;
    let untold = audit_log(&cx).await;
    assert!(untold.iter().all(|text| text.contains("here is nobody who can ask it")), "{untold:?}");
    assert!(untold.iter().any(|text| text.contains("for DAG 'regions'")), "{untold:?}");
    site.official(&["produce", "change"]);
    cx.timetables = None;
    let created = make_runs(&cx).await;
    assert!(created.created.is_empty(), "{created:?}");
    let refused = reasons(&created.refused);
    for dag_id in ["regions", "rollup", "on_orders", "on_any"] {
        assert!(refused[dag_id].contains("there is no Python to ask"), "{refused:?}");
    }
}

/// The task of the producer succeeds, as it is told by its supervisor.
pub(crate) async fn produce(cx: &Context, has_python: bool) {
    let timetables = cx.timetables.as_ref().filter(|_| has_python).map(Arc::clone);
    let service = Service { timetables, ..cx.service.clone() };
    let id = "SELECT CAST(id AS char(36)) AS answer FROM task_instance WHERE dag_id = 'producer'";
    let id = ferroflow_db::testing::texts(&cx.db, id).await.unwrap().remove(0);
    let key = |name: &str| json!({"name": name, "uri": name});
    let keys = [
        ("orders", Some("eu/2024-01-02")),
        ("orders", Some("us/2024-01-02")),
        ("orders", Some("eu/2024-01-03")),
        ("plain", Some("eu/2024-01-02")),
        ("plain", Some("nonsense")),
        ("orders", None),
    ];
    let events: Vec<Value> = keys
        .iter()
        .map(
            |(name, partition)| json!({"dest_asset_key": key(name), "extra": {}, "partition_key": partition}),
        )
        .collect();
    let outlets: Vec<Value> =
        ["orders", "plain"].iter().map(|name| json!({"name": name, "uri": name, "type": "Asset"})).collect();
    let success =
        json!({"end_date": clock::now().to_string(), "task_outlets": outlets, "outlet_events": events});
    let success: Success = serde_json::from_value(success).unwrap();
    service.set_state(id.parse().unwrap(), &StateUpdate::Success(success)).await.unwrap();
}

/// An asset changes as a whole, seen from outside.
async fn change(cx: &Context) {
    let id = "SELECT CAST(id AS char(20)) AS answer FROM asset WHERE name = 'plain'";
    let asset_id: i64 = ferroflow_db::testing::texts(&cx.db, id).await.unwrap()[0].trim().parse().unwrap();
    let (none, nothing) = (std::collections::BTreeSet::new(), Value::Null);
    let change = &Change {
        asset_id,
        name: "plain",
        uri: "plain",
        aliases: &none,
        extra: &nothing,
        partition_key: None,
        partition_date: None,
        source: None,
    };
    let (rules, mappings) = (&Rules::of(&cx.settings).of_events(), &Mappings::default());
    let done = cx.db.transact(|tx| {
        async move {
            register(tx, rules, change, mappings, clock::now()).await?;
            mappings.are_known()
        }
        .scope_boxed()
    });
    done.await.unwrap();
}

async fn audit_log(cx: &Context) -> Vec<String> {
    let question = "SELECT extra AS answer FROM log WHERE event = 'failed to map partition_key'";
    ferroflow_db::testing::texts(&cx.db, question).await.unwrap()
}

fn reasons(refused: &[ferroflow_scheduler::create_runs::Refused]) -> BTreeMap<&str, String> {
    refused.iter().map(|refused| (refused.dag_id.as_str(), refused.reason.to_string())).collect()
}

fn assert_same(ours: &[Value], official: &[Value]) {
    let lines = |rows: &[Value]| rows.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(ours), lines(official));
}
