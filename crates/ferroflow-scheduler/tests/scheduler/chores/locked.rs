//! A row that another transaction has is left for the next time; those beside it are dealt with.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::hitl_detail::{self, Question};
use ferroflow_db::testing::change_and_hold;
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_model::state::{CallbackState, TaskState};
use ferroflow_scheduler::{Context, chores};
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::chores::rows::{NOW, Place, arguments, waiting};
use crate::chores::world::{Fake, context};

/// Servers lock rows.
macro_rules! on_servers {
    ($($test:ident),* $(,)?) => {
        mod postgres { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::Postgres).await; })* }
        mod mariadb { $(#[tokio::test] async fn $test() { super::$test(ferroflow_testkit::Server::MariaDb).await; })* }
    };
}

on_servers!(
    the_callback_of_a_deadline,
    the_callbacks_of_many_deadlines,
    a_callback_that_stays_locked,
    the_question_of_one_that_nobody_answers,
    the_job_of_a_dead_scheduler,
    a_callback_that_is_lost,
    an_asset,
    one_that_does_not_start,
    one_that_is_deferred,
);

struct Held {
    may_end: Arc<Notify>,
    holder: JoinHandle<()>,
}

impl Held {
    /// Has another transaction change a row, and not end.
    async fn new(place: &Place, change: String) -> Self {
        let (changed, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (db, is_changed, end) =
            (place.database.connect().await, Arc::clone(&changed), Arc::clone(&may_end));
        let holder = tokio::spawn(async move {
            change_and_hold(&db, &change, &is_changed, &end).await.unwrap();
        });
        changed.notified().await;
        Self { may_end, holder }
    }

    async fn let_go(self) {
        self.may_end.notify_one();
        self.holder.await.unwrap();
    }
}

/// A scheduler does not wait for long.
fn scheduler(place: &Place) -> Context {
    context(&place.db.with_lock_patience(Duration::from_millis(200)), place.me)
}

fn same(table: &str, column: &str, id: Uuid) -> String {
    format!("UPDATE {table} SET {column} = {column} WHERE {column} = '{}'", id.simple())
}

/// One of them is waited for: each of them, and peers would take the scheduler for dead.
async fn the_callbacks_of_many_deadlines(server: Server) {
    let place = Place::new(server).await;
    for _ in 0..40 {
        place.add_deadline("triggerer", arguments()).await;
    }
    let free = place.add_deadline("triggerer", arguments()).await;
    let held = Held::new(&place, same("callback", "id", free).replace("id = '", "id <> '")).await;
    let cx = scheduler(&place);
    let report = tokio::time::timeout(Duration::from_mins(1), chores::deadlines(&cx, NOW)).await;
    let report = report.expect("it waits for one").unwrap();
    assert_eq!((report.missed.len(), report.refused.len(), report.set_aside.len()), (1, 0, 0));
    assert_eq!(place.callback(free).await.state, Some(CallbackState::Queued));
    held.let_go().await;
    let report = chores::deadlines(&cx, NOW + 1.second()).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len(), report.set_aside.len()), (40, 0, 0));
}

/// The chore is done every second: it comes back to a row that is locked later every time, tells of it, and has the others
/// wait for nothing in between.
async fn a_callback_that_stays_locked(server: Server) {
    let place = Place::new(server).await;
    let first = place.add_deadline("triggerer", arguments()).await;
    let held = Held::new(&place, same("callback", "id", first)).await;
    let cx = scheduler(&place);
    let mut set_aside = Vec::new();
    for second in 0..=6 {
        set_aside.push(chores::deadlines(&cx, NOW + second.seconds()).await.unwrap().set_aside.len());
    }
    assert_eq!(set_aside, [0, 0, 0, 1, 1, 1, 1], "it is told of at the third time, and stays told");
    let second = place.add_deadline("triggerer", arguments()).await;
    held.let_go().await;
    // Nobody looks at the first one yet: it would be there.
    assert_eq!(chores::deadlines(&cx, NOW + 6.seconds()).await.unwrap().missed.len(), 1);
    assert_eq!(place.callback(second).await.state, Some(CallbackState::Queued));
    let report = chores::deadlines(&cx, NOW + 7.seconds()).await.unwrap();
    assert_eq!((report.missed.len(), report.set_aside.len()), (1, 0));
    assert_eq!(place.callback(first).await.state, Some(CallbackState::Queued));
}

async fn the_callback_of_a_deadline(server: Server) {
    let place = Place::new(server).await;
    let first = place.add_deadline("triggerer", arguments()).await;
    let second = place.add_deadline("triggerer", arguments()).await;
    let held = Held::new(&place, same("callback", "id", first)).await;
    let report = chores::deadlines(&scheduler(&place), NOW).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len(), report.set_aside.len()), (1, 0, 0));
    assert_eq!(place.callback(second).await.state, Some(CallbackState::Queued));
    held.let_go().await;
    let report = chores::deadlines(&scheduler(&place), NOW).await.unwrap();
    assert_eq!(report.missed.len(), 1);
    assert_eq!(place.callback(first).await.state, Some(CallbackState::Queued));
}

async fn the_question_of_one_that_nobody_answers(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, waiting(TaskState::AwaitingInput)).await;
    let asked = &ids;
    let put = place.db.transact(|tx| {
        async move {
            for ti_id in asked {
                let question = Question {
                    ti_id: *ti_id,
                    options: Json::from(json!(["yes", "no"])),
                    subject: "?".to_owned(),
                    body: None,
                    defaults: Some(Json::from(json!(["no"]))),
                    multiple: None,
                    params: Json::from(json!({})),
                    assignees: None,
                    responded_at: None,
                };
                hitl_detail::insert(tx, &question, NOW).await?;
            }
            Ok(())
        }
        .scope_boxed()
    });
    put.await.unwrap();
    let held = Held::new(&place, same("hitl_detail", "ti_id", ids[0])).await;
    let report = chores::awaiting_input(&scheduler(&place), NOW).await.unwrap();
    assert_eq!((report.answered.len(), report.set_aside.len()), (1, 0));
    assert_eq!(place.find(ids[1]).await.unwrap().state, Some(TaskState::Scheduled));
    held.let_go().await;
    assert_eq!(chores::awaiting_input(&scheduler(&place), NOW).await.unwrap().answered.len(), 1);
}

async fn the_job_of_a_dead_scheduler(server: Server) {
    let place = Place::new(server).await;
    let mut cx = scheduler(&place);
    cx.job_id = place.scheduler_that_ended(NOW).await;
    let held = Held::new(&place, format!("UPDATE job SET hostname = hostname WHERE id = {}", place.me)).await;
    let report = chores::dead_schedulers(&cx, NOW + 1.hour()).await.unwrap();
    assert_eq!(report.given_up.iter().map(|gone| gone.id).collect::<Vec<_>>(), [place.other]);
    held.let_go().await;
    let report = chores::dead_schedulers(&cx, NOW + 1.hour()).await.unwrap();
    assert_eq!(report.given_up.iter().map(|gone| gone.id).collect::<Vec<_>>(), [place.me]);
}

async fn a_callback_that_is_lost(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    let first = place.add_deadline("executor", arguments()).await;
    let second = place.add_deadline("executor", arguments()).await;
    let executors = Fake { runs_callbacks: true, ..Fake::default() }.alone();
    chores::deadlines(&place.scheduler(gone), NOW).await.unwrap();
    chores::executor_callbacks(&place.scheduler(gone), NOW, &executors).await.unwrap();
    let held = Held::new(&place, same("callback", "id", first)).await;
    let report = chores::executor_callbacks(&scheduler(&place), NOW, &executors).await.unwrap();
    assert_eq!((report.taken_back, report.queued.len()), (vec![second], 1));
    held.let_go().await;
}

async fn an_asset(server: Server) {
    let place = Place::new(server).await;
    let group = if server == Server::MariaDb { "`group`" } else { "\"group\"" };
    let time = "'2024-01-01 00:00:00'";
    for id in [1, 2] {
        let asset = format!(
            "INSERT INTO asset (id, name, uri, {group}, extra, created_at, updated_at) \
             VALUES ({id}, 'asset {id}', 'uri {id}', '', '{{}}', {time}, {time})"
        );
        place.database.execute(asset).await;
        let active = format!("INSERT INTO asset_active (name, uri) VALUES ('asset {id}', 'uri {id}')");
        place.database.execute(active).await;
    }
    let held =
        Held::new(&place, "UPDATE asset_active SET name = name WHERE name = 'asset 1'".to_owned()).await;
    let report = chores::assets(&scheduler(&place), NOW).await.unwrap();
    assert_eq!(report.orphaned, [("asset 2".to_owned(), "uri 2".to_owned())]);
    held.let_go().await;
}

async fn one_that_does_not_start(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, crate::chores::rows::handed_out(TaskState::Queued, place.me)).await;
    let held = Held::new(&place, same("task_instance", "id", ids[0])).await;
    let report = chores::stuck_tasks(&scheduler(&place), NOW, &Fake::default().alone()).await.unwrap();
    assert_eq!(report.taken_back.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ids[1]]);
    held.let_go().await;
}

async fn one_that_is_deferred(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, waiting(TaskState::Deferred)).await;
    let held = Held::new(&place, same("task_instance", "id", ids[0])).await;
    assert_eq!(chores::deferred(&scheduler(&place), NOW).await.unwrap().done.len(), 1);
    held.let_go().await;
}
