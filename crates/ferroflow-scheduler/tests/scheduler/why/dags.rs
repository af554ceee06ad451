//! A DAG that gets no run.

use ferroflow_db::testing;
use ferroflow_model::state::RunState;
use ferroflow_scheduler::why::NoAnswer;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::json;

use crate::why::place::{NOW, Place};
use crate::why::sketch::Sketch;

ferroflow_testkit::on_every_database!(
    reasons_of_dags,
    files_that_cannot_be_imported,
    assets_that_are_waited_for
);

async fn reasons_of_dags(server: Server) {
    let place = Place::new(server).await;
    assert!(matches!(place.ask(&["nothing"]).await, Err(NoAnswer::NoDag(_))));
    let sketch = Sketch::of("a");
    place.dag("by_hand", &sketch, |_| {}).await;
    let no_schedule = "no_schedule: it has no schedule: runs are only triggered";
    assert_eq!(place.reasons(&["by_hand"]).await, ["no_scheduler: no scheduler runs", no_schedule]);
    let dead = place.component("SchedulerJob", 600).await;
    let silent =
        format!("no_scheduler: no scheduler lives; scheduler {dead} on host was heard last 600 s ago");
    assert_eq!(place.reasons(&["by_hand"]).await, [silent.as_str(), no_schedule]);
    place.component("SchedulerJob", 1).await;
    assert_eq!(place.reasons(&["by_hand"]).await, [no_schedule]);

    let due = |seconds: i64| {
        move |row: &mut ferroflow_db::dag::Dag| {
            let at = Some(NOW + seconds.seconds());
            (row.timetable_periodic, row.max_active_runs) = (true, Some(1));
            (row.next_dagrun_create_after, row.next_dagrun) = (at, at);
            (row.next_dagrun_data_interval_start, row.next_dagrun_data_interval_end) = (at, at);
        }
    };
    place.dag("later", &sketch, due(60)).await;
    assert_eq!(place.reasons(&["later"]).await, ["not_due: its next run is not due yet until in 60 s"]);
    place.dag("due", &sketch, due(-60)).await;
    assert_eq!(place.reasons(&["due"]).await, ["next: its next run is due, and made next 60 s ago"]);
    place.run("due", "long", 30, RunState::Running, |_| {}).await;
    let full = "max_active_runs: 1 runs are active, and max_active_runs is 1";
    assert_eq!(place.reasons(&["due"]).await, [full, "  run 'long' running 1800 s ago"]);
    let parts = place.ask(&["due"]).await.unwrap().parts;
    assert_eq!(parts.iter().map(|part| part.state.as_str()).collect::<Vec<_>>(), ["running"]);
    place
        .dag("incomplete", &sketch, |row| {
            due(-60)(row);
            row.next_dagrun_data_interval_end = None;
        })
        .await;
    let lacks = "no_schedule: the row of the DAG has no data interval for its next run; parse the DAG again";
    assert_eq!(place.reasons(&["incomplete"]).await, [lacks]);
    place.dag("over", &sketch, |row| row.timetable_periodic = true).await;
    let over = "no_schedule: its schedule has no further run";
    assert_eq!(place.reasons(&["over"]).await, [over]);
    let once = json!({"__type": "airflow.timetables.simple.OnceTimetable", "__var": {}});
    place.dag("once", &sketch.clone().setting("timetable", once), |_| {}).await;
    assert_eq!(place.reasons(&["once"]).await, [over]);

    place.dag("gone", &sketch, |row| (row.is_paused, row.is_stale) = (true, true)).await;
    let paused = "paused: the DAG is paused: no new run or task starts until it is unpaused";
    let stale = "stale: the DAG is stale: its file is gone";
    assert_eq!(place.reasons(&["gone"]).await, [paused, stale, no_schedule]);
    testing::change(&place.db, "DELETE FROM serialized_dag WHERE dag_id = 'gone'").await.unwrap();
    assert!(place.reasons(&["gone"]).await[2].starts_with("no_definition: DAG gone is not stored"));
}

async fn files_that_cannot_be_imported(server: Server) {
    let place = Place::new(server).await;
    place.component("SchedulerJob", 1).await;
    place.dag("broken", &Sketch::of("a"), |row| row.has_import_errors = Some(true)).await;
    let error = &ferroflow_db::import_error::ImportError {
        bundle_name: "dags-folder".to_owned(),
        filename: "broken.py".to_owned(),
        stacktrace: "Traceback:\n  …\nImportError: no such thing\n".to_owned(),
    };
    let at = NOW - 5.minutes();
    let stored = place.db.transact(|tx| {
        use ferroflow_db::ScopedFutureExt as _;
        async move { ferroflow_db::import_error::insert(tx, error, at).await }.scope_boxed()
    });
    stored.await.unwrap();
    let reason = "import_error: the file of the DAG has import errors: broken.py: ImportError: no such thing 300 s ago";
    assert_eq!(place.reasons(&["broken"]).await[0], reason);
}

async fn assets_that_are_waited_for(server: Server) {
    let place = Place::new(server).await;
    place.component("SchedulerJob", 1).await;
    let asset =
        |name: &str| json!({"__type": "asset", "name": name, "uri": name, "group": "asset", "extra": {}});
    let both = json!({"__type": "asset_all", "objects": [asset("one"), asset("two")]});
    let timetable = json!({
        "__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": {"asset_condition": both},
    });
    let sketch = Sketch::of("a").setting("timetable", timetable);
    place.dag("waits", &sketch, |row| row.asset_expression = Some(json!({"all": []}).into())).await;
    let all = "all of (asset \"one\" at \"one\", asset \"two\" at \"two\")";
    let none = format!("assets: 0 of 2 assets have changed; it waits for {all}");
    assert_eq!(place.reasons(&["waits"]).await, [none]);
    let group = if server == Server::MariaDb { "`group`" } else { "\"group\"" };
    let insert = format!(
        "INSERT INTO asset (id, name, uri, {group}, extra, created_at, updated_at) \
         VALUES (1, 'one', 'one', 'asset', '{{}}', '2027-01-15 07:00:00', '2027-01-15 07:00:00')"
    );
    testing::change(&place.db, &insert).await.unwrap();
    let queued = "INSERT INTO asset_dag_run_queue (asset_id, target_dag_id, created_at) \
                  VALUES (1, 'waits', '2027-01-15 07:59:00')";
    testing::change(&place.db, queued).await.unwrap();
    who_waits_by_a_row_that_cannot_be_read(&place, server).await;
    let one = "assets: 1 of 2 assets have changed; it waits for asset \"two\" at \"two\"";
    let reasons = place.reasons(&["waits"]).await;
    assert_eq!(reasons[0], one);
    assert!(reasons[1].starts_with("  asset \"one\" at \"one\" changed"), "{reasons:?}");

    // What a timetable of somebody's own waits for, only the row of the DAG tells.
    let own = json!({"__type": "my_plugin.Either", "__var": {}});
    let shown = |name: &str| json!({"asset": {"uri": name, "name": name, "group": "asset", "id": 1}});
    let either = json!({"any": [shown("one"), shown("two")]});
    place
        .dag("asks", &Sketch::of("a").setting("timetable", own), |row| {
            row.asset_expression = Some(either.into());
        })
        .await;
    let any = "one of (asset \"one\" at \"one\", asset \"two\" at \"two\")";
    let none = format!("assets: 0 of 2 assets have changed; it waits for {any}");
    assert_eq!(place.reasons(&["asks"]).await, [none]);
}

/// A change of the asset passes over a DAG whose row cannot be read.
async fn who_waits_by_a_row_that_cannot_be_read(place: &Place, server: Server) {
    let at = "'2027-01-15 07:00:00'";
    for statement in [
        "INSERT INTO asset_active (name, uri) VALUES ('one', 'one')".to_owned(),
        format!(
            "INSERT INTO dag_schedule_asset_reference (asset_id, dag_id, created_at, updated_at, allow_producer_teams) \
             VALUES (1, 'waits', {at}, {at}, '7')"
        ),
    ] {
        testing::change(&place.db, &statement).await.unwrap();
    }
    let reasons = place.reasons(&["waits"]).await;
    let bad = "unreadable_row: asset_reference/listeners: column allow_producer_teams of the row with dag_id";
    assert!(reasons.iter().any(|reason| reason.starts_with(bad)), "on {server:?}: {reasons:?}");
    testing::change(&place.db, "DELETE FROM dag_schedule_asset_reference").await.unwrap();
}
