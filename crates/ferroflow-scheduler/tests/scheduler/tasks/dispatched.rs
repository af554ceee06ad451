//! What is queued goes to its executor, and what happens there is heard.

use std::sync::{Arc, Mutex};

use ferroflow_executor::{
    EventKind, EventSender, ExecuteTask, Executor, ExecutorSet, NamedExecutor, Slots, TaskTry, Workload,
    WorkloadKey, executor_events, executor_names,
};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::dispatch::{Dispatched, dispatch};
use ferroflow_scheduler::executors::{Executors, TrackedEvent};
use ferroflow_scheduler::queue_tasks::TaskQueue;
use ferroflow_testkit::Server;
use uuid::Uuid;

use crate::tasks::place::{NOW, Place, Sketched};

ferroflow_testkit::on_every_database!(
    each_goes_to_the_executor_it_asks_for,
    what_cannot_be_handed_over_is_put_down
);

/// Keeps what it is given, and tells what it is told to.
struct Shelf {
    given: Mutex<Vec<ExecuteTask>>,
    terminated: Mutex<Vec<Uuid>>,
    events: EventSender,
}

impl Executor for Shelf {
    fn slots(&self) -> Slots {
        Slots { all: 4, tasks: self.given.lock().unwrap().len(), others: 0 }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        for workload in workloads {
            let Workload::ExecuteTask(task) = workload else { panic!("{workload:?} is not asked for") };
            self.given.lock().unwrap().push(task);
        }
    }

    fn terminate(&self, id: Uuid) {
        self.terminated.lock().unwrap().push(id);
    }
}

fn shelves() -> (Vec<Arc<Shelf>>, Executors) {
    let (sender, events) = executor_events();
    let (mut shelves, mut named) = (Vec::new(), Vec::new());
    for name in executor_names("LocalExecutor,far:site.Far", false).unwrap() {
        named.push(NamedExecutor::new(name, &sender, |events| {
            let shelf = Arc::new(Shelf { given: Mutex::default(), terminated: Mutex::default(), events });
            shelves.push(Arc::clone(&shelf));
            shelf
        }));
    }
    (shelves, Executors::new(ExecutorSet::new(named), events))
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
    let (shelves, mut executors) = shelves();
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    let pass = queue.queue(&cx, &executors.slots(), NOW).await.unwrap();
    let paths = LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap();
    let dispatched = dispatch(&cx.service, &paths, &mut executors, &pass.queued).await;
    assert_eq!(dispatched, Dispatched { submitted: 2, ..Dispatched::default() });
    let occupied: Vec<i64> = executors.slots().iter().map(|one| one.executor.occupied).collect();
    assert_eq!(occupied, [1, 1]);
    let given: Vec<ExecuteTask> =
        shelves.iter().map(|shelf| shelf.given.lock().unwrap()[0].clone()).collect();
    assert_eq!([given[0].ti.id, given[1].ti.id], [added[0], added[1]]);
    assert_eq!(given[0].log_path.as_deref(), Some("dag/near/1.log"));
    assert_eq!((&*given[0].dag_rel_path, &*given[0].bundle_info.name), ("dag.py", "dags-folder"));
    assert_eq!(given[0].bundle_info.version.as_deref(), Some("v3"));
    assert_eq!((given[0].ti.dag_version_id, given[0].ti.try_number), (Some(version), 1));

    executors.terminate(added[1]);
    executors.terminate(Uuid::from_u128(5));
    let terminated: Vec<Vec<Uuid>> =
        shelves.iter().map(|shelf| shelf.terminated.lock().unwrap().clone()).collect();
    assert!(terminated.iter().all(|ids| *ids == [added[1]]), "whoever has it ends it: {terminated:?}");
    hears_of_all(&shelves, &mut executors, &given).await;
}

/// A try that was put off and went on before its process was gone is there twice.
async fn hears_of_all(shelves: &[Arc<Shelf>], executors: &mut Executors, given: &[ExecuteTask]) {
    let tells = |place: usize, kind: EventKind| {
        shelves[place].events.send(WorkloadKey::Task(TaskTry::from(&given[place].ti)), kind);
    };
    tells(1, EventKind::StateSet(TaskState::Deferred));
    let tracked = next(executors).await;
    assert_eq!((tracked.task.id, tracked.is_still_known), (given[1].ti.id, true));
    executors.submit(1, vec![Workload::ExecuteTask(given[1].clone())]);
    tells(1, EventKind::Ended);
    let tracked = next(executors).await;
    assert_eq!((tracked.is_told, tracked.is_still_known), (true, true));
    tells(1, EventKind::Ended);
    let tracked = next(executors).await;
    assert_eq!((tracked.is_told, tracked.is_still_known), (false, false), "the second has told nothing");
    assert!(!executors.has(given[1].ti.id) && executors.has(given[0].ti.id));
    tells(0, EventKind::Waits);
    assert!(!executors.is_idle());
    next(executors).await;
    assert!(executors.is_idle() && executors.has(given[0].ti.id), "it only waits for a row to be mended");
    tells(0, EventKind::NotStarted("why".to_owned()));
    assert_eq!(next(executors).await.kind, EventKind::NotStarted("why".to_owned()));
    assert!(!executors.has(given[0].ti.id));
}

async fn next(executors: &mut Executors) -> TrackedEvent {
    executors.next_event().await.expect("it is of a task")
}

async fn what_cannot_be_handed_over_is_put_down(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let version = place.serialize("dag", &[("bad_path", None, None), ("no_version", None, None)]).await;
    place.run_with("dag", "run", 1, |run| run.logical_date = None).await;
    let bad = Sketched::new("dag", "run", "bad_path").with(|row| row.dag_version_id = Some(version));
    let added = place.add(&[bad, Sketched::new("dag", "run", "no_version")]).await;
    let cx = place.scheduler(7).await;
    let (_, mut executors) = shelves();
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
