//! An executor's event meets the row: what becomes of it in each state.

use ferroflow_db::testing::texts;
use ferroflow_executor::{EventKind, TaskTry};
use ferroflow_model::outcome::{Ignored, Outcome};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::executor_events::{EventOutcome, ProcessedEvent, process_executor_event};
use ferroflow_scheduler::executors::TrackedEvent;
use ferroflow_testkit::Server;
use uuid::Uuid;

use crate::tasks::place::{Place, Sketched};

ferroflow_testkit::on_every_database!(
    who_ended_without_a_word_has_failed_or_is_tried_again,
    what_the_row_says_counts_for_more,
    what_was_not_started_is_put_down_only_while_it_is_queued,
    the_end_of_what_was_told_is_no_news,
);

const JOB: i64 = 7;

/// What is otherwise about a row, what is otherwise about an event, and why that changes nothing.
type Case = (fn(Sketched) -> Sketched, fn(&mut TrackedEvent), Ignored);

/// A place with a run, and one task instance of this scheduler in it.
async fn with_one(server: Server, change: impl FnOnce(Sketched) -> Sketched) -> (Place, Uuid) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let version = place.serialize("dag", &[("task", None, None)]).await;
    place.run("dag", "run", 1).await;
    let mine = Sketched::new("dag", "run", "task")
        .with(|row| (row.queued_by_job_id, row.dag_version_id) = (Some(JOB), Some(version)));
    let id = place.add(&[change(mine)]).await[0];
    (place, id)
}

async fn hear(
    place: &Place,
    id: Uuid,
    kind: EventKind,
    change: impl FnOnce(&mut TrackedEvent),
) -> ProcessedEvent {
    let cx = place.scheduler(JOB).await;
    let key = Sketched::new("dag", "run", "task").row.key;
    let task = TaskTry { id, key, try_number: 1 };
    let mut tracked = TrackedEvent { task, kind, is_told: false, is_still_known: false };
    change(&mut tracked);
    process_executor_event(&cx.db, &cx.service, Some(JOB), &tracked).await.unwrap()
}

async fn who_ended_without_a_word_has_failed_or_is_tried_again(server: Server) {
    for state in [TaskState::Queued, TaskState::Running, TaskState::Scheduled] {
        let (place, id) = with_one(server, |one| one.in_state(state)).await;
        let harvested = hear(&place, id, EventKind::Ended, |_| {}).await;
        assert_eq!(
            harvested.what,
            EventOutcome::RecordedFailure(Outcome::Failed { stops_the_rest: false }),
            "{state}"
        );
        assert!(harvested.is_news());
        assert_eq!(place.find(id).await.state, Some(TaskState::Failed));
        let log = texts(&place.db, "SELECT event AS answer FROM log ORDER BY id").await.unwrap();
        assert_eq!(log, ["state mismatch", "failed"]);
    }
    // One that ran has another identity when it is tried again, and its try is in the history. One that did not begin
    // leaves nothing behind.
    for (state, with_history) in [(TaskState::Queued, false), (TaskState::Running, true)] {
        let change = |one: Sketched| one.in_state(state).with(|row| row.max_tries = 1);
        let (place, id) = with_one(server, change).await;
        let harvested = hear(&place, id, EventKind::Ended, |_| {}).await;
        assert_eq!(
            harvested.what,
            EventOutcome::RecordedFailure(Outcome::Retried { with_history }),
            "{state}"
        );
        let past = texts(&place.db, "SELECT state AS answer FROM task_instance_history").await.unwrap();
        assert_eq!(past, if with_history { vec!["failed"] } else { Vec::new() });
        let now = texts(&place.db, "SELECT state AS answer FROM task_instance").await.unwrap();
        assert_eq!(now, ["up_for_retry"]);
    }
}

async fn what_the_row_says_counts_for_more(server: Server) {
    for state in [TaskState::Success, TaskState::UpForRetry, TaskState::Deferred, TaskState::UpForReschedule]
    {
        let (place, id) = with_one(server, |one| one.in_state(state)).await;
        let harvested = hear(&place, id, EventKind::Ended, |_| {}).await;
        assert_eq!(harvested.what, EventOutcome::Ignored(Ignored::RowKnows(Some(state))));
        assert!(harvested.is_news(), "nobody has told of it yet");
        assert_eq!(place.find(id).await.state, Some(state));
    }
    let running = |one: Sketched| one.in_state(TaskState::Running);
    let cases: [Case; 4] = [
        (|one| one.with(|row| row.try_number = 2), |_| {}, Ignored::OtherTry { event: 1, row: 2 }),
        (|one| one.with(|row| row.queued_by_job_id = Some(8)), |_| {}, Ignored::QueuedByAnother),
        (|one| one, |tracked| tracked.is_still_known = true, Ignored::StillKnown),
        (
            |one| one.in_state(TaskState::Scheduled).with(|row| row.next_method = Some("go_on".to_owned())),
            |_| {},
            Ignored::Resumed,
        ),
    ];
    for (change, hears, expected) in cases {
        let (place, id) = with_one(server, |one| change(running(one))).await;
        let before = place.find(id).await;
        let harvested = hear(&place, id, EventKind::Ended, hears).await;
        assert_eq!(harvested.what, EventOutcome::Ignored(expected));
        assert_eq!(place.find(id).await, before);
    }
    let (place, _) = with_one(server, |one| one).await;
    assert_eq!(hear(&place, Uuid::from_u128(5), EventKind::Ended, |_| {}).await.what, EventOutcome::Gone);
}

async fn what_was_not_started_is_put_down_only_while_it_is_queued(server: Server) {
    let not_started = || EventKind::NotStarted("there is no room".to_owned());
    let (place, id) = with_one(server, |one| one.in_state(TaskState::Queued)).await;
    let harvested = hear(&place, id, not_started(), |_| {}).await;
    assert_eq!(harvested.what, EventOutcome::RecordedFailure(Outcome::Failed { stops_the_rest: false }));
    let told =
        texts(&place.db, "SELECT extra AS answer FROM log WHERE event = 'state mismatch'").await.unwrap();
    assert!(told[0].contains("there is no room"), "{told:?}");
    // Another has taken it, which is why it was not started.
    let (place, id) = with_one(server, |one| one.in_state(TaskState::Running)).await;
    let harvested = hear(&place, id, not_started(), |_| {}).await;
    assert_eq!(harvested.what, EventOutcome::Ignored(Ignored::RowKnows(Some(TaskState::Running))));
    assert_eq!(place.find(id).await.state, Some(TaskState::Running));
}

async fn the_end_of_what_was_told_is_no_news(server: Server) {
    let (place, id) = with_one(server, |one| one.in_state(TaskState::Scheduled)).await;
    let told = hear(&place, id, EventKind::StateSet(TaskState::UpForReschedule), |_| {}).await;
    assert_eq!((told.is_news(), &told.what), (true, &EventOutcome::Told(TaskState::UpForReschedule)));
    // It is scheduled again before its process is gone.
    let over = hear(&place, id, EventKind::Ended, |tracked| tracked.is_told = true).await;
    assert_eq!((over.is_news(), over.what), (false, EventOutcome::Over));
    assert_eq!(place.find(id).await.state, Some(TaskState::Scheduled));
}
