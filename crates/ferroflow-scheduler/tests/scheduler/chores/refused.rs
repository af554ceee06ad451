//! A row that the database refuses is left, and told of; those beside it and behind it are dealt with.

use ferroflow_db::backfill::create::NewBackfill;
use ferroflow_db::{Json, ScopedFutureExt as _, backfill};
use ferroflow_model::backfill::Reprocess;
use ferroflow_model::state::{CallbackState, TaskState};
use ferroflow_scheduler::chores;
use ferroflow_testkit::Server;
use ferroflow_testkit::rows::add_run;
use jiff::{Timestamp, ToSpan as _};
use serde_json::json;
use uuid::Uuid;

use crate::chores::rows::{NOW, Place, arguments, handed_out, waiting};
use crate::chores::world::Fake;

ferroflow_testkit::on_every_database!(
    a_deadline_that_cannot_be_told_has_failed,
    a_deadline_of_which_nothing_can_be_written,
    deferred_ones,
    ones_that_nobody_answers,
    ones_that_do_not_start,
    silent_ones,
    orphans,
    triggers,
    assets_that_go_out_of_use,
    assets_that_come_into_use,
    callbacks_behind_many,
    lost_callbacks,
    tests_of_connections_behind_many,
    dead_schedulers,
    backfills,
);

fn is(column: &str, id: Uuid) -> String {
    format!("{column} = '{}'", id.simple())
}

fn assert_told(set_aside: &[chores::SetAside]) {
    assert_eq!(set_aside.len(), 1, "{set_aside:?}");
    assert!(set_aside[0].reason.contains("not this one"), "{set_aside:?}");
}

async fn a_deadline_that_cannot_be_told_has_failed(server: Server) {
    let place = Place::new(server).await;
    let first = place.add_deadline("triggerer", arguments()).await;
    let second = place.add_deadline("triggerer", arguments()).await;
    let refused = format!("{} AND NEW.state = 'queued'", is("OLD.id", first));
    place.database.refuse("UPDATE", "callback", &refused).await;
    let report = chores::deadlines(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len(), report.set_aside.len()), (1, 1, 0));
    assert_eq!(place.callback(second).await.state, Some(CallbackState::Queued));
    let failed = place.callback(first).await;
    assert_eq!((failed.state, failed.trigger_id), (Some(CallbackState::Failed), None));
    assert!(failed.output.unwrap().contains("not this one"));
    assert_eq!(place.count("deadline", "missed").await, 2);
    let quote = if server == Server::MariaDb { '`' } else { '"' };
    assert_eq!(place.count(&format!("{quote}trigger{quote}"), "1 = 1").await, 1, "that part is undone");
}

async fn a_deadline_of_which_nothing_can_be_written(server: Server) {
    let place = Place::new(server).await;
    let first = place.add_deadline("triggerer", arguments()).await;
    let second = place.add_deadline("triggerer", arguments()).await;
    place.database.refuse("UPDATE", "callback", &is("OLD.id", first)).await;
    let report = chores::deadlines(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len()), (1, 0));
    assert_told(&report.set_aside);
    assert_eq!(place.callback(second).await.state, Some(CallbackState::Queued));
    assert_eq!(place.callback(first).await.state, Some(CallbackState::Scheduled));
}

/// The arguments of a trigger have room for 64 KB there, and are longer encrypted.
#[tokio::test]
async fn a_deadline_of_a_run_with_a_long_conf_on_mariadb() {
    let place = Place::new(Server::MariaDb).await;
    let first = place.add_deadline("triggerer", arguments()).await;
    let second = place.add_deadline("triggerer", arguments()).await;
    let date = NOW - 1.hour();
    let other = place.db.transact(|tx| async move { add_run(tx, "dag", "other", date).await }.scope_boxed());
    let other = other.await.unwrap();
    let long = format!(
        "UPDATE dag_run SET conf = CONCAT('{{\"a\": \"', REPEAT('x', 49000), '\"}}') WHERE id = {other}"
    );
    place.database.execute(long).await;
    let of_long = format!("UPDATE deadline SET dagrun_id = {other} WHERE callback_id = '{}'", first.simple());
    place.database.execute(of_long).await;
    let report = chores::deadlines(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len(), report.set_aside.len()), (1, 1, 0));
    assert_eq!(place.callback(second).await.state, Some(CallbackState::Queued));
    let failed = place.callback(first).await;
    assert_eq!(failed.state, Some(CallbackState::Failed));
    let output = failed.output.unwrap();
    assert!(output.contains("the database does not take it") && output.contains("kwargs"), "{output}");
    let again = chores::deadlines(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!(again, chores::Deadlines::default());
}

async fn deferred_ones(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, waiting(TaskState::Deferred)).await;
    place.database.refuse("UPDATE", "task_instance", &is("OLD.id", ids[0])).await;
    let report = chores::deferred(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!(report.done.len(), 1);
    assert_told(&report.set_aside);
    assert_eq!(report.set_aside[0].dag_id.as_deref(), Some("dag"));
    assert_eq!(place.find(ids[1]).await.unwrap().state, Some(TaskState::Scheduled));
}

async fn ones_that_nobody_answers(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, waiting(TaskState::AwaitingInput)).await;
    place.database.refuse("UPDATE", "task_instance", &is("OLD.id", ids[0])).await;
    let report = chores::awaiting_input(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!(report.unanswered.len(), 1);
    assert_told(&report.set_aside);
    assert_eq!(place.find(ids[1]).await.unwrap().state, Some(TaskState::Scheduled));
}

async fn ones_that_do_not_start(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, handed_out(TaskState::Queued, place.me)).await;
    place.database.refuse("UPDATE", "task_instance", &is("OLD.id", ids[0])).await;
    let report =
        chores::stuck_tasks(&place.scheduler(place.me), NOW, &Fake::default().alone()).await.unwrap();
    assert_eq!((report.taken_back.len(), report.refused.len()), (1, 1));
    assert_eq!(place.find(ids[1]).await.unwrap().state, Some(TaskState::Scheduled));
}

async fn silent_ones(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, handed_out(TaskState::Running, place.me)).await;
    place.database.refuse("UPDATE", "task_instance", &is("OLD.id", ids[0])).await;
    let since = Timestamp::UNIX_EPOCH;
    let report =
        chores::heartbeats(&place.scheduler(place.me), NOW, since, &Fake::default().alone()).await.unwrap();
    assert_eq!((report.ended.len(), report.refused.len()), (1, 1));
    assert_eq!(place.find(ids[1]).await.unwrap().state, Some(TaskState::Failed));
}

async fn orphans(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    let ids = place.add(2, handed_out(TaskState::Queued, gone)).await;
    place.database.refuse("UPDATE", "task_instance", &is("OLD.id", ids[0])).await;
    let report = chores::orphans(&place.scheduler(place.me), NOW, &Fake::default().alone()).await.unwrap();
    assert_eq!((report.reset.len(), report.refused.len()), (1, 1));
    assert!(report.refused[0].1.contains("not this one"), "{:?}", report.refused);
}

async fn triggers(server: Server) {
    let place = Place::new(server).await;
    let first = place.add_trigger().await;
    place.add_trigger().await;
    let table = if server == Server::MariaDb { "`trigger`" } else { "\"trigger\"" };
    place.database.refuse("DELETE", table, &format!("OLD.id = {first}")).await;
    let report = chores::triggers(&place.scheduler(place.me)).await.unwrap();
    assert_eq!(report.done, 1);
    assert_told(&report.set_aside);
}

/// Adds assets, each with the DAG as one that waits for it or not.
async fn add_assets(place: &Place, server: Server, are_used: bool) {
    let group = if server == Server::MariaDb { "`group`" } else { "\"group\"" };
    let time = "'2024-01-01 00:00:00'";
    for id in [1, 2] {
        place
            .database
            .execute(format!(
                "INSERT INTO asset (id, name, uri, {group}, extra, created_at, updated_at) \
                 VALUES ({id}, 'asset {id}', 'uri {id}', '', '{{}}', {time}, {time})"
            ))
            .await;
        let more = if are_used {
            format!(
                "INSERT INTO dag_schedule_asset_reference (asset_id, dag_id, created_at, updated_at) \
                 VALUES ({id}, 'dag', {time}, {time})"
            )
        } else {
            format!("INSERT INTO asset_active (name, uri) VALUES ('asset {id}', 'uri {id}')")
        };
        place.database.execute(more).await;
    }
}

async fn assets_that_go_out_of_use(server: Server) {
    let place = Place::new(server).await;
    add_assets(&place, server, false).await;
    place.database.refuse("DELETE", "asset_active", "OLD.name = 'asset 1'").await;
    let report = chores::assets(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!(report.orphaned, [("asset 2".to_owned(), "uri 2".to_owned())]);
    assert_told(&report.set_aside);
}

async fn assets_that_come_into_use(server: Server) {
    let place = Place::new(server).await;
    add_assets(&place, server, true).await;
    place.database.refuse("INSERT", "asset_active", "NEW.name = 'asset 1'").await;
    let report = chores::assets(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!(report.activated, [("asset 2".to_owned(), "uri 2".to_owned())]);
    assert_told(&report.set_aside);
}

/// More than there is room for.
async fn callbacks_behind_many(server: Server) {
    let place = Place::new(server).await;
    let mut ids = Vec::new();
    for _ in 0..70 {
        ids.push(place.add_deadline("executor", arguments()).await);
    }
    let last = *ids.iter().max().unwrap();
    let cx = place.scheduler(place.me);
    chores::deadlines(&cx, NOW).await.unwrap();
    place.database.refuse("UPDATE", "callback", &format!("NOT {}", is("OLD.id", last))).await;
    let executors = Fake { runs_callbacks: true, ..Fake::default() }.alone();
    let report = chores::executor_callbacks(&cx, NOW, &executors).await.unwrap();
    assert_eq!(report.queued.iter().map(|one| one.workload.id).collect::<Vec<_>>(), [last]);
    assert_eq!(report.set_aside.len(), 69);
}

async fn lost_callbacks(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    let first = place.add_deadline("executor", arguments()).await;
    let second = place.add_deadline("executor", arguments()).await;
    let executors = Fake { runs_callbacks: true, ..Fake::default() }.alone();
    chores::deadlines(&place.scheduler(gone), NOW).await.unwrap();
    let queued = chores::executor_callbacks(&place.scheduler(gone), NOW, &executors).await.unwrap();
    assert_eq!(queued.queued.len(), 2);
    place.database.refuse("UPDATE", "callback", &is("OLD.id", first)).await;
    let report = chores::executor_callbacks(&place.scheduler(place.me), NOW, &executors).await.unwrap();
    assert_eq!((report.taken_back, report.queued.len()), (vec![second], 1));
    assert_told(&report.set_aside);
}

/// More than may be tried at a time, and of those that are given up as many.
async fn tests_of_connections_behind_many(server: Server) {
    let place = Place::new(server).await;
    for number in 0..9 {
        place
            .database
            .execute(format!(
                "INSERT INTO connection_test_request (id, token, connection_id, state, conn_type, created_at, \
                 updated_at, commit_on_success, is_encrypted, is_extra_encrypted) VALUES \
                 ('0000000000004000800000000000000{number}', 'token {number}', 'c{number}', 'pending', 'http', \
                 '2027-01-01 00:00:0{number}', '2027-01-01 00:00:00', false, false, false)"
            ))
            .await;
    }
    place.database.refuse("UPDATE", "connection_test_request", "OLD.connection_id <> 'c8'").await;
    let (cx, executors) =
        (place.scheduler(place.me), Fake { tests_connections: true, ..Fake::default() }.alone());
    let report = chores::connection_tests(&cx, NOW, &executors).await.unwrap();
    assert_eq!(report.queued.iter().map(|test| test.connection_id.as_str()).collect::<Vec<_>>(), ["c8"]);
    assert_eq!(report.set_aside.len(), 8);
    let given_up = chores::stale_connection_tests(&cx, NOW + 1.hour()).await.unwrap();
    assert_eq!((given_up.done.len(), given_up.set_aside.len()), (1, 8));
}

async fn dead_schedulers(server: Server) {
    let place = Place::new(server).await;
    let cx = place.scheduler(place.scheduler_that_ended(NOW).await);
    place.database.refuse("UPDATE", "job", &format!("OLD.id = {}", place.me)).await;
    let report = chores::dead_schedulers(&cx, NOW + 1.hour()).await.unwrap();
    assert_eq!(report.given_up.iter().map(|gone| gone.id).collect::<Vec<_>>(), [place.other]);
    assert_told(&report.set_aside);
}

async fn backfills(server: Server) {
    let place = Place::new(server).await;
    let added = place.db.transact(|tx| {
        async move {
            let new = NewBackfill {
                dag_id: "dag".to_owned(),
                from: NOW,
                to: NOW,
                conf: Json::from(json!({})),
                reprocess: Reprocess::None,
                max_active_runs: 1,
                triggering_user_name: None,
                is_paused: false,
            };
            let first = backfill::create::insert(tx, &new, NOW).await?;
            Ok([first, backfill::create::insert(tx, &new, NOW).await?])
        }
        .scope_boxed()
    });
    let [first, second] = added.await.unwrap();
    place.database.refuse("UPDATE", "backfill", &format!("OLD.id = {first}")).await;
    let report = chores::backfills(&place.scheduler(place.me), NOW + 1.hour()).await.unwrap();
    assert_eq!(report.done, [second]);
    assert_told(&report.set_aside);
}
