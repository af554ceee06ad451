//! Two schedulers do the same chore at once: everything is done, and once.

use std::collections::HashSet;

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::chores;
use ferroflow_testkit::Server;
use jiff::{Timestamp, ToSpan as _};

use crate::chores::rows::{NOW, Place, arguments, handed_out, waiting};
use crate::chores::world::Fake;

ferroflow_testkit::on_every_database!(
    orphans_begin_anew_once,
    silent_ones_end_once,
    stuck_ones_are_taken_back_once,
    deferred_ones_go_on_once,
    deadlines_are_told_once,
    callbacks_go_to_an_executor_once,
    triggers_are_removed_once,
);

const MANY: usize = 230;

/// Nothing is lost, and nothing told by both.
fn assert_once(one: Vec<TaskInstanceKey>, other: Vec<TaskInstanceKey>) {
    let all: Vec<TaskInstanceKey> = one.into_iter().chain(other).collect();
    let different: HashSet<&TaskInstanceKey> = all.iter().collect();
    assert_eq!((all.len(), different.len()), (MANY, MANY));
}

async fn orphans_begin_anew_once(server: Server) {
    let place = Place::new(server).await;
    let gone = place.scheduler_that_ended(NOW).await;
    place
        .add(MANY, |instance| {
            let is_even = instance.key.task_id.ends_with(['0', '2', '4', '6', '8']);
            handed_out(if is_even { TaskState::Queued } else { TaskState::Running }, gone)(instance);
        })
        .await;
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.other));
    let executors = Fake::default().alone();
    let (one, other) =
        tokio::join!(chores::orphans(&one, NOW, &executors), chores::orphans(&other, NOW, &executors));
    assert_once(one.unwrap().reset, other.unwrap().reset);
    assert_eq!(place.count("task_instance", "state IS NULL AND queued_by_job_id IS NULL").await, MANY);
    assert_eq!(place.count("task_instance_history", "try_number = 1").await, MANY);
}

async fn silent_ones_end_once(server: Server) {
    let place = Place::new(server).await;
    place.add(MANY, handed_out(TaskState::Running, place.me)).await;
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.me));
    let since = Timestamp::UNIX_EPOCH;
    let mut ended = Vec::new();
    // As many as a batch, and then the rest.
    for _ in 0..2 {
        let executors = Fake::default().alone();
        let (one, other) = tokio::join!(
            chores::heartbeats(&one, NOW, since, &executors),
            chores::heartbeats(&other, NOW, since, &executors)
        );
        ended.extend([one.unwrap(), other.unwrap()].into_iter().flat_map(|report| report.ended));
    }
    assert_once(ended.into_iter().map(|(_, key, _)| key).collect(), Vec::new());
    assert_eq!(place.count("task_instance", "state = 'failed'").await, MANY);
    assert_eq!(place.count("log", "event = 'heartbeat timeout'").await, MANY);
}

async fn stuck_ones_are_taken_back_once(server: Server) {
    let place = Place::new(server).await;
    place.add(MANY, handed_out(TaskState::Queued, place.me)).await;
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.me));
    let executors = Fake::default().alone();
    let mut taken_back = Vec::new();
    for _ in 0..2 {
        let (one, other) = tokio::join!(
            chores::stuck_tasks(&one, NOW, &executors),
            chores::stuck_tasks(&other, NOW, &executors)
        );
        taken_back.extend([one.unwrap(), other.unwrap()].into_iter().flat_map(|report| report.taken_back));
    }
    assert_once(taken_back.into_iter().map(|(_, key)| key).collect(), Vec::new());
    assert_eq!(place.count("task_instance", "state = 'scheduled' AND queued_dttm IS NULL").await, MANY);
    assert_eq!(place.count("log", "event = 'stuck in queued reschedule'").await, MANY);
}

async fn deferred_ones_go_on_once(server: Server) {
    let place = Place::new(server).await;
    place.add(MANY, waiting(TaskState::Deferred)).await;
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.other));
    let (one, other) = tokio::join!(chores::deferred(&one, NOW), chores::deferred(&other, NOW));
    assert_once(one.unwrap().done, other.unwrap().done);
    assert_eq!(place.count("task_instance", "state = 'scheduled' AND next_method = '__fail__'").await, MANY);
}

async fn deadlines_are_told_once(server: Server) {
    let place = Place::new(server).await;
    for _ in 0..30 {
        place.add_deadline("triggerer", arguments()).await;
    }
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.other));
    let (one, other) = tokio::join!(chores::deadlines(&one, NOW), chores::deadlines(&other, NOW));
    assert_eq!(one.unwrap().missed.len() + other.unwrap().missed.len(), 30);
    let quote = if server == Server::MariaDb { '`' } else { '"' };
    assert_eq!(place.count(&format!("{quote}trigger{quote}"), "1 = 1").await, 30);
    assert_eq!(place.count("callback", "state = 'queued' AND trigger_id IS NOT NULL").await, 30);
}

async fn callbacks_go_to_an_executor_once(server: Server) {
    let place = Place::new(server).await;
    for _ in 0..30 {
        place.add_deadline("executor", arguments()).await;
    }
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.other));
    assert!(chores::deadlines(&one, NOW).await.unwrap().has_executor_callbacks);
    let executors = Fake { runs_callbacks: true, ..Fake::default() }.alone();
    let (one, other) = tokio::join!(
        chores::executor_callbacks(&one, NOW, &executors),
        chores::executor_callbacks(&other, NOW, &executors)
    );
    let queued: Vec<_> =
        [one.unwrap(), other.unwrap()].into_iter().flat_map(|report| report.queued).collect();
    let different: HashSet<_> = queued.iter().map(|one| one.workload.id).collect();
    assert_eq!((queued.len(), different.len()), (30, 30));
    assert!(queued.iter().all(|one| one.workload.dag_rel_path == "dag.py" && one.executor.is_none()));
}

async fn triggers_are_removed_once(server: Server) {
    let place = Place::new(server).await;
    let kept = place.add_trigger().await;
    place
        .add(1, |instance| {
            waiting(TaskState::Deferred)(instance);
            instance.trigger_id = Some(kept);
            instance.trigger_timeout = Some(NOW + 1.hour());
        })
        .await;
    for _ in 0..30 {
        place.add_trigger().await;
    }
    let (one, other) = (place.scheduler(place.me), place.scheduler(place.other));
    let (one, other) = tokio::join!(chores::triggers(&one), chores::triggers(&other));
    assert_eq!(one.unwrap().done + other.unwrap().done, 30);
    assert_eq!(place.count("task_instance", "trigger_id IS NOT NULL").await, 1);
}
