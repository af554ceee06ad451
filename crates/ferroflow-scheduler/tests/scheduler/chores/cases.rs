//! What the chores do that Airflow's do not, or that takes a moment that the real ones cannot be brought to.

use ferroflow_component::{JobType, job_row};
use ferroflow_db::{ScopedFutureExt as _, job};
use ferroflow_executor::{Adopted, Executor, Orphan, Slots, Workload};
use ferroflow_model::state::{CallbackState, JobState, TaskState};
use ferroflow_scheduler::chores;
use ferroflow_testkit::Server;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use jiff::{Timestamp, ToSpan as _};
use serde_json::json;
use uuid::Uuid;

use crate::chores::rows::{NOW, Place, add_scheduler, arguments, handed_out, waiting};
use crate::chores::world::{Fake, only};

ferroflow_testkit::on_every_database!(
    a_silent_scheduler_is_given_up_and_comes_back,
    an_end_is_told_also_by_one_that_was_given_up,
    the_orphans_of_a_scheduler_that_was_forgotten_are_looked_after,
    what_ran_here_is_settled_by_its_executor,
    an_orphan_that_is_refused_is_tried_again,
    nobody_is_silent_just_after_a_standstill,
    nobody_is_silent_whose_executor_knows_better,
    a_heartbeat_in_between_counts,
    what_cannot_be_taken_back_stays_queued,
    a_deadline_that_cannot_be_told_does_not_keep_back_others,
    callbacks_that_no_executor_runs_fail_with_a_reason,
    connections_are_tried_as_many_at_a_time_as_allowed,
    runs_of_paused_dags_are_listed_when_something_changed,
    pools_and_tasks_are_counted,
    assets_are_in_use_while_something_refers_to_them,
);

async fn a_silent_scheduler_is_given_up_and_comes_back(server: Server) {
    let place = Place::new(server).await;
    let cx = place.scheduler(place.me);
    let slow = place
        .db
        .transact(|tx| async move { add_scheduler(tx, NOW - 1.hour()).await }.scope_boxed())
        .await
        .unwrap();
    let ended = place.scheduler_that_ended(NOW - 10.seconds()).await;
    let now = NOW + 20.seconds();
    let found = chores::dead_schedulers(&cx, now).await.unwrap();
    assert_eq!(found.given_up.iter().map(|gone| gone.id).collect::<Vec<_>>(), [slow]);
    assert_eq!(found.ended, [ended], "what was heard of an hour ago is looked after already");
    assert_eq!(chores::dead_schedulers(&cx, now).await.unwrap().given_up, []);
    assert!(job_row::beat(&place.db, JobType::Scheduler, slow, now).await.unwrap());
    let row = place.db.read(|tx| async move { job::find(tx, slow).await }.scope_boxed()).await.unwrap();
    assert_eq!(row.unwrap().state, Some(JobState::Running));
    let late = chores::dead_schedulers(&cx, NOW + 40.seconds()).await.unwrap();
    assert_eq!(
        late.given_up.iter().map(|gone| gone.id).collect::<Vec<_>>(),
        [place.other],
        "itself it is not"
    );
}

async fn an_end_is_told_also_by_one_that_was_given_up(server: Server) {
    let place = Place::new(server).await;
    chores::dead_schedulers(&place.scheduler(place.me), NOW + 1.hour()).await.unwrap();
    job_row::end(&place.db, JobType::Scheduler, place.other, JobState::Success, NOW + 1.hour())
        .await
        .unwrap();
    let other = place.other;
    let row = place.db.read(|tx| async move { job::find(tx, other).await }.scope_boxed()).await.unwrap();
    let row = row.unwrap();
    assert_eq!((row.state, row.end_date), (Some(JobState::Success), Some(NOW + 1.hour())));
    assert!(
        !job_row::beat(&place.db, JobType::Scheduler, 4711, NOW).await.unwrap(),
        "a row that is gone is told"
    );
}

async fn the_orphans_of_a_scheduler_that_was_forgotten_are_looked_after(server: Server) {
    let place = Place::new(server).await;
    place.add(1, handed_out(TaskState::Queued, 4711)).await;
    let report = chores::orphans(&place.scheduler(place.me), NOW, &Fake::default().alone()).await.unwrap();
    assert_eq!(report.reset.len(), 1);
}

/// Says of all that runs that it has ended, or cannot tell.
struct Settles(bool);

impl Executor for Settles {
    fn slots(&self) -> Slots {
        Slots { all: 1, ..Slots::default() }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        panic!("chores submit nothing: {workloads:?}");
    }

    fn terminate(&self, id: Uuid) {
        panic!("chores end nothing: {id}");
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.has_begun
    }

    fn adopt<'a>(&'a self, orphans: &'a [Orphan]) -> BoxFuture<'a, Vec<Adopted>> {
        let ended = || Adopted::Ended("its supervisor is gone".to_owned());
        let told =
            orphans.iter().map(|_| if self.0 { ended() } else { Adopted::Unknown("not now".to_owned()) });
        ready(told.collect()).boxed()
    }
}

async fn what_ran_here_is_settled_by_its_executor(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    let ids = place.add(1, handed_out(TaskState::Running, gone)).await;
    let report = chores::orphans(&place.scheduler(place.me), NOW, &only(Settles(true))).await.unwrap();
    assert_eq!((report.settled.len(), report.reset.len()), (1, 0));
    assert_eq!(place.find(ids[0]).await.unwrap().queued_by_job_id, Some(place.me));
}

async fn an_orphan_that_is_refused_is_tried_again(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    let ids = place.add(1, handed_out(TaskState::Running, gone)).await;
    let report = chores::orphans(&place.scheduler(place.me), NOW, &only(Settles(false))).await.unwrap();
    assert_eq!(report.refused.len(), 1);
    assert!(report.refused[0].1.contains("not now"), "{:?}", report.refused);
    // It is this scheduler's now: its silence is noticed, or it is an orphan again.
    let row = place.find(ids[0]).await.unwrap();
    assert_eq!((row.state, row.queued_by_job_id), (Some(TaskState::Running), Some(place.me)));
    let cx = place.scheduler(place.me);
    let report = chores::heartbeats(&cx, NOW, Timestamp::UNIX_EPOCH, &Fake::default().alone()).await.unwrap();
    assert_eq!(report.ended.len(), 1);
}

/// Others have let go of its row, and it is still to be told of.
async fn nobody_is_silent_whose_executor_knows_better(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(2, handed_out(TaskState::Running, place.me)).await;
    let executors = Fake { alive: Some(ids[0]), ..Fake::default() }.alone();
    let cx = place.scheduler(place.me);
    let report = chores::heartbeats(&cx, NOW, Timestamp::UNIX_EPOCH, &executors).await.unwrap();
    assert_eq!(report.ended.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), ids[1..]);
    assert_eq!(place.find(ids[0]).await.unwrap().state, Some(TaskState::Running));
}

async fn nobody_is_silent_just_after_a_standstill(server: Server) {
    let place = Place::new(server).await;
    place.add(1, handed_out(TaskState::Running, place.me)).await;
    let cx = place.scheduler(place.me);
    let report = chores::heartbeats(&cx, NOW, NOW - 59.seconds(), &Fake::default().alone()).await.unwrap();
    assert_eq!(report.ended, []);
    let report = chores::heartbeats(&cx, NOW, NOW - 60.seconds(), &Fake::default().alone()).await.unwrap();
    assert_eq!(report.ended.len(), 1);
}

async fn a_heartbeat_in_between_counts(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(1, handed_out(TaskState::Running, place.me)).await;
    let cx = place.scheduler(place.me);
    let before = NOW - 2.hours();
    assert_eq!(cx.service.gone_silent(ids[0], 1, before, "silence", NOW).await.unwrap(), None);
    assert_eq!(place.find(ids[0]).await.unwrap().state, Some(TaskState::Running));
    assert_eq!(place.count("log", "event = 'heartbeat timeout'").await, 0);
}

async fn what_cannot_be_taken_back_stays_queued(server: Server) {
    let place = Place::new(server).await;
    let ids = place.add(1, handed_out(TaskState::Queued, place.me)).await;
    let report = chores::stuck_tasks(&place.scheduler(place.me), NOW, &only(Settles(true))).await.unwrap();
    assert_eq!((report.taken_back.len(), report.failed.len(), report.refused.len()), (0, 0, 1));
    assert!(report.refused[0].1.contains("cannot take it back"));
    assert_eq!(place.find(ids[0]).await.unwrap().state, Some(TaskState::Queued));
}

async fn a_deadline_that_cannot_be_told_does_not_keep_back_others(server: Server) {
    let place = Place::new(server).await;
    let pod = json!({"__var": {"pod": {"__var": {}, "__type": "k8s.V1Pod"}}, "__type": "dict"});
    let bad = place.add_deadline("triggerer", pod).await;
    let unknown = place.add_deadline("nobody", arguments()).await;
    let good = place.add_deadline("triggerer", arguments()).await;
    let report = chores::deadlines(&place.scheduler(place.me), NOW).await.unwrap();
    assert_eq!((report.missed.len(), report.refused.len()), (1, 2));
    assert_eq!(place.count("deadline", "missed").await, 3);
    let bad = place.callback(bad).await;
    assert_eq!(bad.state, Some(CallbackState::Failed));
    assert!(bad.output.unwrap().contains("k8s.V1Pod"));
    let output = place.callback(unknown).await.output.unwrap();
    assert!(output.contains("type \"nobody\""), "{output}");
    assert_eq!(place.callback(good).await.state, Some(CallbackState::Queued));
}

async fn callbacks_that_no_executor_runs_fail_with_a_reason(server: Server) {
    let place = Place::new(server).await;
    let (cx, id) = (place.scheduler(place.me), place.add_deadline("executor", arguments()).await);
    chores::deadlines(&cx, NOW).await.unwrap();
    let report = chores::executor_callbacks(&cx, NOW, &Fake::default().alone()).await.unwrap();
    assert_eq!((report.queued.len(), report.refused.len()), (0, 1));
    let callback = place.callback(id).await;
    assert_eq!(callback.state, Some(CallbackState::Failed));
    assert_eq!(callback.output.as_deref(), Some("the default executor does not run callbacks"));
}

async fn connections_are_tried_as_many_at_a_time_as_allowed(server: Server) {
    let place = Place::new(server).await;
    for number in 0..6 {
        place
            .database
            .execute(format!(
                "INSERT INTO connection_test_request (id, token, connection_id, active_connection_id, state, conn_type, \
                 created_at, updated_at, commit_on_success, is_encrypted, is_extra_encrypted) VALUES \
                 ('0000000000004000800000000000000{number}', 'token {number}', 'c{number}', 'c{number}', 'pending', \
                 'http', '2027-01-01 00:00:0{number}', '2027-01-01 00:00:00', false, false, false)"
            ))
            .await;
    }
    let (cx, executors) =
        (place.scheduler(place.me), Fake { tests_connections: true, ..Fake::default() }.alone());
    let report = chores::connection_tests(&cx, NOW, &executors).await.unwrap();
    let names: Vec<&str> = report.queued.iter().map(|test| test.connection_id.as_str()).collect();
    assert_eq!(names, ["c0", "c1", "c2", "c3"]);
    let report = chores::connection_tests(&cx, NOW, &executors).await.unwrap();
    assert_eq!((report.counts.pending, report.counts.active, report.queued.len()), (2, 4, 0));
    assert_eq!(place.count("connection_test_request", "active_connection_id IS NOT NULL").await, 6);
    let given_up = chores::stale_connection_tests(&cx, NOW + 91.seconds()).await.unwrap();
    assert_eq!(given_up.done.len(), 6);
    assert_eq!(place.count("connection_test_request", "active_connection_id IS NULL").await, 6);
}

async fn runs_of_paused_dags_are_listed_when_something_changed(server: Server) {
    let place = Place::new(server).await;
    let cx = place.scheduler(place.me);
    place.add(1, handed_out(TaskState::Running, place.me)).await;
    place.database.execute("UPDATE dag_run SET last_scheduling_decision = '2000-01-01 00:00:00'").await;
    assert_eq!(chores::paused_runs(&cx).await.unwrap(), [], "the DAG is not paused");
    place.database.execute("UPDATE dag SET is_paused = true").await;
    let runs = chores::paused_runs(&cx).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [place.run]);
    place.database.execute("UPDATE dag_run SET last_scheduling_decision = '2037-01-01 00:00:00'").await;
    assert_eq!(chores::paused_runs(&cx).await.unwrap(), [], "nothing has changed since it was examined");
}

async fn pools_and_tasks_are_counted(server: Server) {
    let place = Place::new(server).await;
    let cx = place.scheduler(place.me);
    let states = [
        TaskState::Running,
        TaskState::Running,
        TaskState::Queued,
        TaskState::Scheduled,
        TaskState::Deferred,
    ];
    place
        .add(5, |instance| {
            let number: usize = instance.key.task_id["task ".len()..].parse().unwrap();
            waiting(states[number])(instance);
            instance.pool_slots = i32::try_from(number).unwrap() + 1;
        })
        .await;
    let pools = chores::pool_slots(&cx).await.unwrap();
    assert_eq!(pools.len(), 1);
    let pool = &pools[0];
    assert_eq!((pool.open, pool.running, pool.queued), (Some(128 - 6), 3, 3));
    assert_eq!((pool.scheduled, pool.deferred), (4, 5));
    let counts = chores::task_counts(&cx).await.unwrap();
    assert_eq!(counts.iter().map(|count| count.total).sum::<i64>(), 5);
    assert_eq!(chores::running_runs(&cx).await.unwrap(), chores::RunningRuns(1));
}

async fn assets_are_in_use_while_something_refers_to_them(server: Server) {
    let place = Place::new(server).await;
    let cx = place.scheduler(place.me);
    let name = if server == Server::MariaDb { "`group`" } else { "\"group\"" };
    let time = "'2024-01-01 00:00:00'";
    for (id, name_and_uri) in [(1, "'used', 'uri 1'"), (2, "'used', 'uri 2'"), (3, "'orphan', 'uri 3'")] {
        place
            .database
            .execute(format!(
                "INSERT INTO asset (id, name, uri, {name}, extra, created_at, updated_at) \
                 VALUES ({id}, {name_and_uri}, '', '{{}}', {time}, {time})"
            ))
            .await;
    }
    for id in [1, 2] {
        place
            .database
            .execute(format!(
                "INSERT INTO dag_schedule_asset_reference (asset_id, dag_id, created_at, updated_at) \
                 VALUES ({id}, 'dag', {time}, {time})"
            ))
            .await;
    }
    place.database.execute("INSERT INTO asset_active (name, uri) VALUES ('orphan', 'uri 3')").await;
    place
        .database
        .execute(format!(
            "INSERT INTO asset_state_store (asset_id, {}, value, updated_at) VALUES (3, 'k', '1', {time})",
            if server == Server::MariaDb { "`key`" } else { "\"key\"" }
        ))
        .await;
    let report = chores::assets(&cx, NOW).await.unwrap();
    let key = |name: &str, uri: &str| (name.to_owned(), uri.to_owned());
    assert_eq!(report.orphaned, [key("orphan", "uri 3")]);
    assert_eq!(report.activated, [key("used", "uri 1")]);
    assert_eq!(report.dropped_values, 1);
    assert_eq!(report.warned.len(), 1);
    assert!(report.warned[0].1.ends_with("; name is already associated to 'uri 1'"), "{:?}", report.warned);
    let again = chores::assets(&cx, NOW).await.unwrap();
    assert_eq!((again.orphaned.len(), again.activated.len(), again.warned.len()), (0, 0, 1));
    place.database.execute("DELETE FROM dag_schedule_asset_reference WHERE asset_id = 2").await;
    assert_eq!(chores::assets(&cx, NOW).await.unwrap().warned, []);
    assert_eq!(place.count("dag_warning", "1 = 1").await, 0);
}
