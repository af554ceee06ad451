//! What others made ready is found, and only what is new is read.

use ferroflow_model::state::TaskState;
use ferroflow_scheduler::queue_tasks::{Swept, TaskQueue};
use ferroflow_testkit::Server;
use jiff::ToSpan as _;

use crate::tasks::place::{NOW, Place, Sketched, ids, local, queue_all};

ferroflow_testkit::on_every_database!(
    what_others_made_ready_is_found_once,
    what_goes_on_after_a_trigger_is_found,
    what_waits_of_a_dag_that_is_not_stored_fails,
    one_that_the_database_does_not_let_fail_keeps_no_other,
);

async fn what_others_made_ready_is_found_once(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "a", 1).await;
    place.run("dag", "b", 2).await;
    let in_a = place.add(&[Sketched::new("dag", "a", "one"), Sketched::new("dag", "a", "two")]).await;
    place.add(&[Sketched::new("dag", "b", "one")]).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap(), Swept { runs: 2, found: 3, ..Swept::default() });
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap(), Swept::default(), "nothing is new");

    place.add(&[Sketched::new("dag", "b", "two")]).await;
    let swept = queue.sweep(&cx, NOW).await.unwrap();
    assert_eq!(swept, Swept { runs: 1, found: 2, ..Swept::default() }, "only that run is read");

    // As many as before, but not the same.
    assert!(place.set_state(in_a[0], TaskState::Scheduled, TaskState::Success).await);
    let later = Sketched::new("dag", "a", "three").with(|row| row.scheduled_dttm = Some(NOW + 1.second()));
    place.add(&[later]).await;
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap().runs, 1);
    assert_eq!(queue.len(), 4);

    let queued = ids(&queue_all(&mut queue, &cx, &local(100)).await);
    assert_eq!((queued.len(), queued.contains(&in_a[0])), (4, false));
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap(), Swept::default());
}

async fn what_goes_on_after_a_trigger_is_found(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    let deferred = Sketched::new("dag", "run", "task").in_state(TaskState::Deferred);
    let id = place.add(&[deferred]).await[0];
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap().found, 0);
    assert!(place.set_state(id, TaskState::Deferred, TaskState::Scheduled).await);
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap().found, 1);
    assert_eq!(ids(&queue_all(&mut queue, &cx, &local(100)).await), [id]);
}

async fn what_waits_of_a_dag_that_is_not_stored_fails(server: Server) {
    let place = Place::new(server).await;
    place.dag("lost", |dag| dag.has_task_concurrency_limits = true).await;
    place.dag("plain", |_| {}).await;
    place.run("lost", "run", 1).await;
    place.run("plain", "run", 1).await;
    let added = [Sketched::new("lost", "run", "task"), Sketched::new("plain", "run", "task")];
    let added = place.add(&added).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    let swept = queue.sweep(&cx, NOW).await.unwrap();
    assert_eq!((swept.found, swept.lost), (1, vec![("lost".to_owned(), 1)]));
    assert_eq!(place.find(added[0]).await.state, Some(TaskState::Failed));
    assert_eq!(ids(&queue_all(&mut queue, &cx, &local(100)).await), [added[1]]);
}

async fn one_that_the_database_does_not_let_fail_keeps_no_other(server: Server) {
    let place = Place::new(server).await;
    let mut added = Vec::new();
    for dag_id in ["aa", "zz"] {
        place.dag(dag_id, |dag| dag.has_task_concurrency_limits = true).await;
        place.run(dag_id, "run", 1).await;
        added.extend(place.add(&[Sketched::new(dag_id, "run", "task")]).await);
    }
    place.database.refuse("UPDATE", "task_instance", "NEW.dag_id = 'aa' AND NEW.state = 'failed'").await;
    let cx = place.scheduler(7).await;
    let swept = TaskQueue::default().sweep(&cx, NOW).await.unwrap();
    assert_eq!(swept.lost, [("zz".to_owned(), 1)]);
    let [(dag_id, reason)] = swept.set_aside.as_slice() else { panic!("{swept:?}") };
    assert!(dag_id == "aa" && reason.contains("not this one"), "{reason}");
    assert_eq!(place.find(added[1]).await.state, Some(TaskState::Failed));
}
