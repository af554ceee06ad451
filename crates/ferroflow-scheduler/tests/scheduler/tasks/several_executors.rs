//! Executors of two types at once: each workload goes to the one that it asks for, and both tell through one channel.

use std::sync::{Arc, Mutex};

use ferroflow_component::{JobType, job_row};
use ferroflow_db::callback::{self, Callback};
use ferroflow_db::testing::texts;
use ferroflow_db::{Json, ScopedFutureExt as _};
use ferroflow_execution::Host;
use ferroflow_executor::{
    Adopted, EventKind, EventSender, Executor, ExecutorSet, NamedExecutor, Orphan, Slots, TaskTry, Workload,
    WorkloadKey, WorkloadKind, executor_events, executor_names,
};
use ferroflow_model::id::new_v7;
use ferroflow_model::state::{CallbackState, JobState, TaskState};
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_testkit::Server;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::tasks::place::{NOW, Place, Sketched};

ferroflow_testkit::on_every_database!(
    each_workload_goes_to_the_executor_it_asks_for,
    what_an_executor_takes_over_goes_on
);

type Batches = Arc<Mutex<Vec<Vec<Workload>>>>;

/// Runs workloads of all kinds, as the local executor does.
struct Near(Batches);

/// Runs tasks and callbacks under names that are chosen when they are queued, as Celery does, and takes over what a
/// scheduler that is gone gave to it.
struct Far(Batches);

impl Executor for Near {
    fn slots(&self) -> Slots {
        Slots { all: 32, tasks: self.0.lock().unwrap().len(), others: 0 }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        self.0.lock().unwrap().push(workloads);
    }

    fn terminate(&self, _id: Uuid) {}

    fn supports(&self, _kind: WorkloadKind) -> bool {
        true
    }
}

impl Executor for Far {
    fn slots(&self) -> Slots {
        Slots { all: usize::MAX, tasks: self.0.lock().unwrap().len(), others: 0 }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        self.0.lock().unwrap().push(workloads);
    }

    fn terminate(&self, _id: Uuid) {}

    fn supports(&self, kind: WorkloadKind) -> bool {
        kind != WorkloadKind::TestConnection
    }

    fn needs_external_ids(&self) -> bool {
        true
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.external_executor_id.is_some()
    }

    fn adopt<'a>(&'a self, orphans: &'a [Orphan]) -> BoxFuture<'a, Vec<Adopted>> {
        let answer = |orphan: &Orphan| match orphan.external_executor_id.as_deref() {
            Some("goes on") => Adopted::Running,
            Some("has ended") => Adopted::Ended("its worker is gone".to_owned()),
            Some("cannot be asked") => Adopted::Unknown("the broker does not answer".to_owned()),
            _ => Adopted::NotFound,
        };
        ready(orphans.iter().map(answer).collect()).boxed()
    }
}

/// A scheduler with both, and what they are given and tell.
struct Both {
    scheduler: Scheduler,
    job_id: i64,
    near: Batches,
    far: Batches,
    far_tells: EventSender,
    near_tells: EventSender,
}

impl Both {
    async fn new(place: &Place) -> Self {
        let host = Host { name: "here".to_owned(), user: "somebody".to_owned() };
        let job_id = job_row::start(&place.db, JobType::Scheduler, &host, NOW).await.unwrap();
        let mut names = executor_names("LocalExecutor,far:site.executors.FarExecutor", false).unwrap();
        let (near, far) = (Batches::default(), Batches::default());
        let (sender, events) = executor_events();
        let mut tell = None;
        let far_one = NamedExecutor::new(names.remove(1), &sender, |events| {
            tell = Some(events);
            Arc::new(Far(Arc::clone(&far)))
        });
        let far_tells = tell.take().unwrap();
        let near_one = NamedExecutor::new(names.remove(0), &sender, |events| {
            tell = Some(events);
            Arc::new(Near(Arc::clone(&near)))
        });
        let parts = Parts {
            cx: Arc::new(place.scheduler(job_id).await),
            paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
            executors: Executors::new(ExecutorSet::new([near_one, far_one]), events),
            width: 1,
        };
        let (scheduler, near_tells) = (Scheduler::new(parts, NOW), tell.unwrap());
        Self { scheduler, job_id, near, far, far_tells, near_tells }
    }

    async fn cycle(&mut self, place: &Place, now: Timestamp) {
        assert!(job_row::beat(&place.db, JobType::Scheduler, self.job_id, now).await.unwrap());
        self.scheduler.cycle(now).await.unwrap();
    }
}

/// What was given, as words.
fn given(batches: &Batches) -> Vec<Vec<String>> {
    let word = |workload: &Workload| match workload {
        Workload::ExecuteTask(task) => task.ti.task_id.clone(),
        Workload::ExecuteCallback(callback) => format!("callback {}", callback.id),
        Workload::TestConnection(test) => format!("test of {}", test.connection_id),
    };
    let sorted = |batch: &Vec<Workload>| {
        let mut words: Vec<String> = batch.iter().map(word).collect();
        words.sort();
        words
    };
    batches.lock().unwrap().iter().map(sorted).collect()
}

async fn each_workload_goes_to_the_executor_it_asks_for(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let asked = [
        ("by_default", None),
        ("by_alias", Some("far")),
        ("by_path", Some("site.executors.FarExecutor")),
        ("by_class", Some("FarExecutor")),
        ("not_there", Some("Gone")),
    ];
    let version = place.serialize("dag", &asked.map(|(task_id, _)| (task_id, None, None))).await;
    let run = place.run("dag", "run", 1).await;
    let tasks = asked.map(|(task_id, executor)| {
        Sketched::new("dag", "run", task_id).with(|row| {
            (row.executor, row.dag_version_id) = (executor.map(str::to_owned), Some(version));
        })
    });
    let ids = place.add(&tasks).await;
    let mut callbacks = Vec::new();
    for executor in [None, Some("far"), Some("Gone")] {
        callbacks.push(add_callback(&place, run, executor).await);
    }
    for (number, executor) in [(1, "NULL"), (2, "'far'")] {
        add_connection_test(&place, number, executor).await;
    }
    let mut both = Both::new(&place).await;
    both.cycle(&place, NOW).await;
    both.cycle(&place, NOW + SignedDuration::from_secs(20)).await;

    let near = [
        vec!["by_default".to_owned()],
        vec![format!("callback {}", callbacks[0])],
        vec!["test of c1".to_owned()],
    ];
    assert_eq!(given(&both.near), near);
    let tasks = ["by_alias", "by_class", "by_path"].map(str::to_owned).to_vec();
    assert_eq!(given(&both.far), [tasks, vec![format!("callback {}", callbacks[1])]], "tasks come together");
    let waits = place.find(ids[4]).await;
    assert_eq!((waits.state, waits.queued_by_job_id), (Some(TaskState::Scheduled), None));
    assert_eq!(place.find(ids[0]).await.external_executor_id, None);
    for id in &ids[1..4] {
        assert!(place.find(*id).await.external_executor_id.is_some(), "Celery has it by that name");
    }
    let outputs = "SELECT output AS answer FROM callback WHERE state = 'failed'";
    assert_eq!(texts(&place.db, outputs).await.unwrap(), ["there is no executor \"Gone\" here"]);
    let messages = "SELECT result_message AS answer FROM connection_test_request WHERE state = 'failed'";
    assert_eq!(texts(&place.db, messages).await.unwrap(), ["executor \"far\" does not try connections"]);
    all_is_told_through_one_channel(&place, &mut both).await;
}

/// The scheduler has something at its executors until both have told that it is over.
async fn all_is_told_through_one_channel(place: &Place, both: &mut Both) {
    let later = NOW + SignedDuration::from_secs(21);
    // What runs a callback or a connection test writes its end before its executor tells it.
    for done in
        ["UPDATE callback SET state = 'success'", "UPDATE connection_test_request SET state = 'success'"]
    {
        place.database.execute(&format!("{done} WHERE state <> 'failed'")).await;
    }
    for (batches, tells) in [(&both.near, &both.near_tells), (&both.far, &both.far_tells)] {
        let workloads: Vec<Workload> = batches.lock().unwrap().iter().flatten().cloned().collect();
        for workload in workloads {
            if let WorkloadKey::Task(task) = workload.key() {
                assert!(place.set_state(task.id, TaskState::Queued, TaskState::Success).await);
                tells.send(workload.key(), EventKind::StateSet(TaskState::Success));
            }
            assert!(!both.scheduler.is_idle());
            tells.send(workload.key(), EventKind::Ended);
        }
    }
    both.cycle(place, later).await;
    assert!(both.scheduler.is_idle());
}

async fn what_an_executor_takes_over_goes_on(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let names = ["goes on", "has ended", "cannot be asked", "is not there"];
    let version = place.serialize("dag", &names.map(|name| (name, None, None))).await;
    place.run("dag", "run", 1).await;
    let host = Host { name: "there".to_owned(), user: "somebody".to_owned() };
    let gone = job_row::start(&place.db, JobType::Scheduler, &host, NOW).await.unwrap();
    job_row::end(&place.db, JobType::Scheduler, gone, JobState::Failed, NOW).await.unwrap();
    let tasks = names.map(|name| {
        Sketched::new("dag", "run", name).in_state(TaskState::Queued).with(|row| {
            (row.executor, row.dag_version_id) = (Some("far".to_owned()), Some(version));
            (row.queued_by_job_id, row.external_executor_id) = (Some(gone), Some(name.to_owned()));
        })
    });
    let ids = place.add(&tasks).await;
    let mut both = Both::new(&place).await;
    both.cycle(&place, NOW).await;

    let history = "SELECT task_id AS answer FROM task_instance_history";
    assert_eq!(texts(&place.db, history).await.unwrap(), ["is not there"], "it begins anew");
    assert_eq!(place.find(ids[1]).await.state, Some(TaskState::Failed));
    for id in [ids[0], ids[2]] {
        let row = place.find(id).await;
        assert_eq!((row.state, row.queued_by_job_id), (Some(TaskState::Queued), Some(both.job_id)));
    }

    assert!(both.scheduler.executors().has(ids[0]) && !both.scheduler.is_idle());
    let key = Sketched::new("dag", "run", names[0]).row.key;
    let task = WorkloadKey::Task(TaskTry { id: ids[0], key, try_number: 1 });
    both.far_tells.send(task, EventKind::NotStarted("its worker was shut down".to_owned()));
    both.cycle(&place, NOW + SignedDuration::from_secs(1)).await;
    assert_eq!(place.find(ids[0]).await.state, Some(TaskState::Failed));
    assert!(!both.scheduler.executors().has(ids[0]));
}

async fn add_callback(place: &Place, run: i64, executor: Option<&str>) -> Uuid {
    let data = json!({
        "__var": {"path": "a.module.call", "kwargs": {}, "executor": executor, "dag_run_id": run.to_string()},
        "__type": "dict",
    });
    let new = &Callback {
        id: new_v7(NOW, rand::random()),
        callback_type: "executor".to_owned(),
        fetch_method: "import_path".to_owned(),
        data: Json::from(data),
        bundle_name: None,
        state: Some(CallbackState::Pending),
        output: None,
        priority_weight: 1,
        created_at: NOW,
        trigger_id: None,
    };
    place.db.transact(|tx| async move { callback::insert(tx, new).await }.scope_boxed()).await.unwrap();
    new.id
}

async fn add_connection_test(place: &Place, number: u32, executor: &str) {
    place
        .execute(&format!(
            "INSERT INTO connection_test_request (id, token, connection_id, active_connection_id, state, conn_type, \
             created_at, updated_at, commit_on_success, is_encrypted, is_extra_encrypted, executor) VALUES \
             ('0000000000004000800000000000000{number}', 'token {number}', 'c{number}', 'c{number}', 'pending', \
             'http', '2027-01-15 08:00:0{number}', '2027-01-15 08:00:00', false, false, false, {executor})"
        ))
        .await;
}
