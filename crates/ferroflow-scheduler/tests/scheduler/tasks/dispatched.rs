//! What is queued goes to its executor, and what happens there is heard.

use std::collections::VecDeque;

use ferroflow_executor::{Event, EventKind, Executor, Workload};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::dispatch::{Dispatched, dispatch};
use ferroflow_scheduler::executors::{Executors, NamedExecutor, executor_names};
use ferroflow_scheduler::queue_tasks::TaskQueue;
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_testkit::Server;
use uuid::Uuid;

use crate::tasks::place::{NOW, Place, Sketched};

on_every_database!(each_goes_to_the_executor_it_asks_for, what_cannot_be_handed_over_is_put_down);

/// Keeps what it is given, and tells what it is told to.
#[derive(Default)]
struct Shelf {
    given: Vec<Workload>,
    events: VecDeque<Event>,
    terminated: Vec<Uuid>,
}

impl Executor for Shelf {
    fn free_slots(&self) -> usize {
        4 - self.given.len()
    }

    fn submit(&mut self, workload: Workload) {
        self.given.push(workload);
    }

    async fn next_event(&mut self) -> Event {
        match self.events.pop_front() {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    fn terminate(&mut self, id: Uuid) {
        self.terminated.push(id);
    }
}

fn shelves() -> Executors<Shelf> {
    let named =
        |name| NamedExecutor { name, slots: 4, names: ExecutorNames::None, executor: Shelf::default() };
    Executors::new(
        executor_names("LocalExecutor,far:site.Far", false).unwrap().into_iter().map(named).collect(),
    )
}

async fn each_goes_to_the_executor_it_asks_for(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let version = place.serialize("dag", &[("near", None, None), ("far", None, None)]).await;
    place.run_with("dag", "run", 1, |run| run.bundle_version = Some("v3".to_owned())).await;
    let task =
        |task_id: &str| Sketched::new("dag", "run", task_id).with(|row| row.dag_version_id = Some(version));
    let far = task("far").with(|row| row.executor = Some("far".to_owned()));
    let added = place.add(&[task("near"), far]).await;
    let cx = place.scheduler(7).await;
    let mut executors = shelves();
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    let pass = queue.queue(&cx, &executors.slots(), NOW).await.unwrap();
    let paths = LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap();
    let dispatched = dispatch(&cx.service, &paths, &mut executors, &pass.queued).await;
    assert_eq!(dispatched, Dispatched { submitted: 2, ..Dispatched::default() });
    let occupied: Vec<i64> = executors.slots().iter().map(|one| one.executor.occupied).collect();
    assert_eq!(occupied, [1, 1]);
    let given: Vec<Workload> = executors.each().map(|shelf| shelf.given[0].clone()).collect();
    assert_eq!([given[0].ti.id, given[1].ti.id], [added[0], added[1]]);
    assert_eq!(given[0].log_path.as_deref(), Some("dag/near/1.log"));
    assert_eq!((&*given[0].dag_rel_path, &*given[0].bundle_info.name), ("dag.py", "dags-folder"));
    assert_eq!(given[0].bundle_info.version.as_deref(), Some("v3"));
    assert_eq!((given[0].ti.dag_version_id, given[0].ti.try_number), (Some(version), 1));

    executors.terminate(added[1]);
    executors.terminate(Uuid::from_u128(5));
    let terminated: Vec<Vec<Uuid>> = executors.each().map(|shelf| shelf.terminated.clone()).collect();
    assert!(terminated.iter().all(|ids| *ids == [added[1]]), "whoever has it ends it: {terminated:?}");
    hears_of_all(&mut executors, &given).await;
}

/// A try that was put off and went on before its process was gone is there twice.
async fn hears_of_all(executors: &mut Executors<Shelf>, given: &[Workload]) {
    let tells = |executors: &mut Executors<Shelf>, place: usize, what: EventKind| {
        let ti = &given[place].ti;
        let event = Event { id: ti.id, key: ti.key(), try_number: 1, what };
        executors.each().nth(place).unwrap().events.push_back(event);
    };
    tells(executors, 1, EventKind::StateSet(TaskState::Deferred));
    let tracked = executors.next_event().await;
    assert_eq!((tracked.event.id, tracked.is_still_known), (given[1].ti.id, true));
    executors.submit(1, given[1].clone());
    tells(executors, 1, EventKind::Ended);
    let tracked = executors.next_event().await;
    assert_eq!((tracked.is_told, tracked.is_still_known), (true, true));
    tells(executors, 1, EventKind::Ended);
    let tracked = executors.next_event().await;
    assert_eq!((tracked.is_told, tracked.is_still_known), (false, false), "the second has told nothing");
    assert!(!executors.has(given[1].ti.id) && executors.has(given[0].ti.id));
    tells(executors, 0, EventKind::Waits);
    assert!(!executors.is_idle());
    executors.next_event().await;
    assert!(executors.is_idle() && executors.has(given[0].ti.id), "it only waits for a row to be mended");
    tells(executors, 0, EventKind::NotStarted("why".to_owned()));
    assert_eq!(executors.next_event().await.event.what, EventKind::NotStarted("why".to_owned()));
    assert!(!executors.has(given[0].ti.id));
}

async fn what_cannot_be_handed_over_is_put_down(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let version = place.serialize("dag", &[("bad_path", None, None), ("no_version", None, None)]).await;
    place.run_with("dag", "run", 1, |run| run.logical_date = None).await;
    let bad = Sketched::new("dag", "run", "bad_path").with(|row| row.dag_version_id = Some(version));
    let added = place.add(&[bad, Sketched::new("dag", "run", "no_version")]).await;
    let cx = place.scheduler(7).await;
    let mut executors = shelves();
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    let pass = queue.queue(&cx, &executors.slots(), NOW).await.unwrap();
    assert_eq!(pass.queued.len(), 2);
    let paths = LogPaths::new("{dag_id}/{logical_date}.log").unwrap();
    let dispatched = dispatch(&cx.service, &paths, &mut executors, &pass.queued).await;
    let mut reasons: Vec<String> =
        dispatched.impossible.iter().map(|(key, why)| format!("{}: {why}", key.task_id)).collect();
    reasons.sort();
    assert_eq!(dispatched.submitted, 0);
    assert!(reasons[0].starts_with("bad_path: [logging] log_filename_template asks for the logical date"));
    assert!(reasons[1].starts_with("no_version: it is of no version of its DAG"));
    for id in added {
        assert_eq!(place.find(id).await.state, Some(TaskState::Failed));
        assert!(!executors.has(id));
    }
}
