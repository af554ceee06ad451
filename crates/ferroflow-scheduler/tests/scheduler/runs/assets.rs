//! Runs that assets ask for.

use ferroflow_model::state::RunType;
use ferroflow_scheduler::create_runs::{CreatedRuns, NotCreated, create_runs};
use ferroflow_testkit::Server;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::runs::place::{Place, Plan, at, create_all, on_asset};

ferroflow_testkit::on_every_database!(
    a_run_consumes_every_event_that_waits_for_it,
    an_event_of_a_clock_that_is_behind_is_consumed_once,
    a_condition_on_two_assets_waits_for_both,
    what_waits_for_a_dag_without_assets_is_thrown_away,
    a_partition_gets_its_run_when_its_keys_have_come,
    partitions_of_other_mappers_are_thrown_away,
    what_waits_in_vain_and_cannot_be_thrown_away_keeps_no_run,
    a_partition_whose_run_is_refused_keeps_no_other,
    a_partition_that_cannot_be_thrown_away_keeps_no_other,
);

async fn events(place: &Place) -> Vec<String> {
    let mut events =
        place.texts("SELECT CONCAT(dag_run_id, ' ', event_id) AS answer FROM dagrun_asset_event").await;
    events.sort();
    events
}

async fn a_run_consumes_every_event_that_waits_for_it(server: Server) {
    let place = Place::new(server, &[Plan::new("a", on_asset("x"))]).await;
    let asset = place.asset("x", &["a"], at("2024-01-02")).await;
    place.change(asset, "x", at("2024-01-01")).await;
    place.database.execute("DELETE FROM asset_dag_run_queue").await;
    for day in ["03", "04", "05"] {
        place.change(asset, "x", at(&format!("2024-01-{day}"))).await;
    }
    let cx = place.scheduler().await;
    let report = create_all(&cx, at("2024-01-06")).await;
    let [run] = report.created.as_slice() else { panic!("{report:?}") };
    assert_eq!((run.run_type, run.run_after), (RunType::AssetTriggered, at("2024-01-05")));
    assert_eq!(run.consumed_events, 3, "not what was before the DAG waited, and all that came after");
    assert!(run.run_id.starts_with("asset_triggered__2024-01-05T00:00:00+00:00_"), "{}", run.run_id);
    place.change(asset, "x", at("2024-01-07")).await;
    let report = create_all(&cx, at("2024-01-08")).await;
    assert_eq!(report.created[0].consumed_events, 1, "the next run consumes what came since");
    assert_eq!(events(&place).await.len(), 4);
}

async fn an_event_of_a_clock_that_is_behind_is_consumed_once(server: Server) {
    let place = Place::new(server, &[Plan::new("a", on_asset("x"))]).await;
    let asset = place.asset("x", &["a"], at("2024-01-02")).await;
    let cx = place.scheduler().await;
    place.change(asset, "x", at("2024-01-05")).await;
    assert_eq!(create_all(&cx, at("2024-01-06")).await.created[0].consumed_events, 1);
    let behind = at("2024-01-05") - SignedDuration::from_secs(6);
    place.change(asset, "x", behind).await;
    place.change(asset, "x", at("2024-01-07")).await;
    let report = create_all(&cx, at("2024-01-08")).await;
    let [run] = report.created.as_slice() else { panic!("{report:?}") };
    assert_eq!(run.consumed_events, 2, "the one that is dated before the first run, too");
    place.change(asset, "x", behind).await;
    let report = create_all(&cx, at("2024-01-08")).await;
    let [run] = report.created.as_slice() else { panic!("{report:?}") };
    assert_eq!((run.run_after, run.consumed_events), (behind, 1), "and nobody's event again");
    assert_eq!(events(&place).await.len(), 4);
}

async fn a_condition_on_two_assets_waits_for_both(server: Server) {
    let asset =
        |name: &str| json!({"__type": "asset", "name": name, "uri": name, "group": "asset", "extra": {}});
    let both = json!({"__type": "asset_all", "objects": [asset("x"), asset("y")]});
    let timetable = json!({"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": {"asset_condition": both}});
    let place = Place::new(server, &[Plan::new("a", timetable)]).await;
    let x = place.asset("x", &["a"], at("2024-01-02")).await;
    let y = place.asset("y", &["a"], at("2024-01-02")).await;
    let cx = place.scheduler().await;
    place.change(x, "x", at("2024-01-03")).await;
    assert!(create_all(&cx, at("2024-01-06")).await.created.is_empty());
    place.change(y, "y", at("2024-01-05")).await;
    let report = create_all(&cx, at("2024-01-06")).await;
    assert_eq!(report.created[0].run_after, at("2024-01-05"));
    assert_eq!(report.created[0].consumed_events, 2);
}

async fn what_waits_for_a_dag_without_assets_is_thrown_away(server: Server) {
    let place = Place::new(server, &[Plan::new("a", on_asset("x")), Plan::new("b", on_asset("x"))]).await;
    let asset = place.asset("x", &["a", "b"], at("2024-01-02")).await;
    place.change(asset, "x", at("2024-01-03")).await;
    place.database.execute("UPDATE dag SET asset_expression = NULL WHERE dag_id = 'a'").await;
    let report = create_all(&place.scheduler().await, at("2024-01-06")).await;
    assert_eq!(report.created.len(), 1);
    assert!(place.texts("SELECT target_dag_id AS answer FROM asset_dag_run_queue").await.is_empty());
}

/// A run for every day, when so many hours of it have come.
fn days_of_hours(hours: i32) -> Value {
    let class = |class: &str, fields: Value| json!({"__type": format!("airflow.partition_mappers.{class}"), "__var": fields});
    let day = class(
        "temporal.StartOfDayMapper",
        json!({"timezone": "UTC", "input_format": "%Y-%m-%dT%H:%M:%S", "output_format": "%Y-%m-%d"}),
    );
    let mapper = class(
        "base.RollupMapper",
        json!({
            "upstream_mapper": day,
            "window": class("window.DayWindow", json!({"direction": "forward"})),
            "wait_policy": class("wait_policy.MinimumCount", json!({"n": hours})),
        }),
    );
    let asset = json!({"__type": "asset", "name": "x", "uri": "x", "group": "asset", "extra": {}});
    let fields =
        json!({"asset_condition": asset, "partition_mapper_config": [], "default_partition_mapper": mapper});
    json!({"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": fields})
}

async fn a_partition_gets_its_run_when_its_keys_have_come(server: Server) {
    let mut plan = Plan::new("a", days_of_hours(2));
    plan.row.timetable_partitioned = true;
    let place = Place::new(server, &[plan]).await;
    let asset = place.asset("x", &["a"], at("2024-01-02")).await;
    let cx = place.scheduler().await;
    let now = at("2024-01-06");
    place.change_partition(asset, "x", Some("2024-01-03T01:00:00"), now).await;
    assert!(create_runs(&cx, now).await.unwrap().created.is_empty(), "one hour is not enough");
    place.change_partition(asset, "x", Some("2024-01-03T02:00:00"), now).await;
    place.change_partition(asset, "x", Some("2024-01-04T02:00:00"), now).await;
    let report = create_all(&cx, now).await;
    let [run] = report.created.as_slice() else { panic!("{report:?}") };
    assert_eq!(run.consumed_events, 2);
    let row = place.run("a", &run.run_id).await;
    assert_eq!(
        (row.partition_key.as_deref(), row.partition_date),
        (Some("2024-01-03"), Some(at("2024-01-03")))
    );
    assert!(create_all(&cx, now).await.created.is_empty(), "it gets no other");
}

async fn partitions_of_other_mappers_are_thrown_away(server: Server) {
    let mut plan = Plan::new("a", days_of_hours(2));
    plan.row.timetable_partitioned = true;
    let place = Place::new(server, &[plan]).await;
    let asset = place.asset("x", &["a"], at("2024-01-02")).await;
    let now = at("2024-01-06");
    place.change_partition(asset, "x", Some("2024-01-03T01:00:00"), now).await;
    place.store_again(&Plan::new("a", days_of_hours(1))).await;
    let report = create_runs(&place.scheduler().await, now).await.unwrap();
    assert!(report.created.is_empty());
    assert_eq!(report.outdated_partitions.len(), 1);
    assert!(place.texts("SELECT target_dag_id AS answer FROM partitioned_asset_key_log").await.is_empty());
}

async fn what_waits_in_vain_and_cannot_be_thrown_away_keeps_no_run(server: Server) {
    let place = Place::new(server, &[Plan::new("a", on_asset("x")), Plan::new("b", on_asset("x"))]).await;
    let asset = place.asset("x", &["a", "b"], at("2024-01-02")).await;
    place.change(asset, "x", at("2024-01-03")).await;
    place.database.execute("UPDATE dag SET asset_expression = NULL WHERE dag_id = 'a'").await;
    place.database.refuse("DELETE", "asset_dag_run_queue", "OLD.target_dag_id = 'a'").await;
    let report = create_runs(&place.scheduler().await, at("2024-01-06")).await.unwrap();
    assert_eq!(report.created.iter().map(|run| run.dag_id.as_str()).collect::<Vec<_>>(), ["b"]);
    assert_refused(&report);
}

async fn a_partition_whose_run_is_refused_keeps_no_other(server: Server) {
    let mut plan = Plan::new("a", days_of_hours(1));
    plan.row.timetable_partitioned = true;
    let place = Place::new(server, &[plan]).await;
    let asset = place.asset("x", &["a"], at("2024-01-02")).await;
    let now = at("2024-01-06");
    for day in ["03", "04", "05"] {
        place.change_partition(asset, "x", Some(&format!("2024-01-{day}T01:00:00")), now).await;
    }
    place.database.refuse("INSERT", "dag_run", "NEW.partition_key = '2024-01-03'").await;
    let report = create_runs(&place.scheduler().await, now).await.unwrap();
    let mut keys: Vec<&str> = report.created.iter().filter_map(|run| run.partition_key.as_deref()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["2024-01-04", "2024-01-05"]);
    assert_refused(&report);
}

async fn a_partition_that_cannot_be_thrown_away_keeps_no_other(server: Server) {
    let mut plan = Plan::new("a", days_of_hours(2));
    plan.row.timetable_partitioned = true;
    let place = Place::new(server, &[plan]).await;
    let asset = place.asset("x", &["a"], at("2024-01-02")).await;
    let now = at("2024-01-06");
    for day in ["03", "04"] {
        place.change_partition(asset, "x", Some(&format!("2024-01-{day}T01:00:00")), now).await;
    }
    place.store_again(&Plan::new("a", days_of_hours(1))).await;
    place.database.refuse("DELETE", "asset_partition_dag_run", "OLD.partition_key = '2024-01-03'").await;
    let report = create_runs(&place.scheduler().await, now).await.unwrap();
    assert_eq!(report.outdated_partitions.len(), 1);
    assert_refused(&report);
}

fn assert_refused(report: &CreatedRuns) {
    let [refused] = report.refused.as_slice() else { panic!("{report:?}") };
    assert_eq!(refused.dag_id, "a");
    let reason = refused.reason.to_string();
    assert!(matches!(refused.reason, NotCreated::Database(_)) && reason.contains("not this one"), "{reason}");
}
