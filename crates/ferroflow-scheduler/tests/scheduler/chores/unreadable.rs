//! However many rows cannot be read, those behind them have their turn.

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_model::id;
use ferroflow_model::state::CallbackState;
use ferroflow_scheduler::chores;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::json;
use uuid::Uuid;

use crate::chores::rows::{NOW, Place, arguments};
use crate::chores::world::Fake;

/// More than an executor has room for, and than are read together behind those.
const MANY: i64 = 600;

#[tokio::test]
async fn callbacks_behind_many_that_sqlite_holds_and_nobody_can_read() {
    callbacks_behind_many_that_cannot_be_read(Server::Sqlite, "''").await;
}

#[tokio::test]
async fn callbacks_behind_many_that_postgres_holds_and_nobody_can_read() {
    callbacks_behind_many_that_cannot_be_read(Server::Postgres, "'-infinity'").await;
}

/// Of rows with this time nothing is known, but they come first.
async fn callbacks_behind_many_that_cannot_be_read(server: Server, time: &str) {
    let place = Place::new(server).await;
    let waiting = |number: i64| Callback {
        id: id::new_v7(NOW, rand::random()),
        callback_type: "executor".to_owned(),
        fetch_method: "import_path".to_owned(),
        data: Json::from(json!({
            "__var": {"path": "a.call", "kwargs": {}, "executor": null, "dag_run_id": place.run},
            "__type": "dict",
        })),
        bundle_name: None,
        state: Some(CallbackState::Pending),
        output: None,
        priority_weight: 1,
        created_at: NOW + number.seconds(),
        trigger_id: None,
    };
    let callbacks: &Vec<Callback> = &(0..MANY + 2).map(waiting).collect();
    let added = place.db.transact(|tx| {
        async move {
            for callback in callbacks {
                callback::insert(tx, callback).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    added.await.unwrap();
    let last = (NOW + MANY.seconds()).strftime("%Y-%m-%d %H:%M:%S.000000").to_string();
    place
        .database
        .execute(format!("UPDATE callback SET created_at = {time} WHERE created_at < '{last}'"))
        .await;
    let executors = Fake { runs_callbacks: true, ..Fake::default() }.alone();
    let report = chores::executor_callbacks(&place.scheduler(place.me), NOW, &executors).await.unwrap();
    let queued: Vec<Uuid> = report.queued.iter().map(|one| one.workload.id).collect();
    assert_eq!(queued, [600, 601].map(|number: usize| callbacks[number].id));
}

/// Servers have no row there with columns that cannot be read.
#[tokio::test]
async fn tests_of_connections_behind_many_that_cannot_be_read() {
    let place = Place::new(Server::Sqlite).await;
    for number in 0..9 {
        let executor = if number < 8 { "X'ff'" } else { "NULL" };
        place
            .database
            .execute(format!(
                "INSERT INTO connection_test_request (id, token, connection_id, state, conn_type, executor, created_at, \
                 updated_at, commit_on_success, is_encrypted, is_extra_encrypted) VALUES \
                 ('0000000000004000800000000000000{number}', 'token {number}', 'c{number}', 'pending', 'http', \
                 {executor}, '2027-01-01 00:00:0{number}', '2027-01-01 00:00:00', false, false, false)"
            ))
            .await;
    }
    let executors = Fake { tests_connections: true, ..Fake::default() }.alone();
    let report = chores::connection_tests(&place.scheduler(place.me), NOW, &executors).await.unwrap();
    assert_eq!(report.queued.iter().map(|test| test.connection_id.as_str()).collect::<Vec<_>>(), ["c8"]);
}

/// What cannot be read today may be mended tomorrow: until then nothing is decided, and others have their turn.
#[tokio::test]
async fn the_callback_of_a_deadline_waits_until_it_is_mended() {
    let place = Place::new(Server::Sqlite).await;
    let bad = place.add_deadline("triggerer", arguments()).await;
    let good = place.add_deadline("triggerer", arguments()).await;
    let set = |time: &str| format!("UPDATE callback SET created_at = '{time}' WHERE id = '{}'", bad.simple());
    place.database.execute(set("")).await;
    let cx = place.scheduler(place.me);
    let report = chores::deadlines(&cx, NOW).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len()), (1, 0));
    assert_eq!(place.callback(good).await.state, Some(CallbackState::Queued));
    place.database.execute(set("2027-01-01 00:00:00.000000")).await;
    let report = chores::deadlines(&cx, NOW + 1.second()).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len()), (1, 0));
    assert_eq!(place.callback(bad).await.state, Some(CallbackState::Queued));
}
