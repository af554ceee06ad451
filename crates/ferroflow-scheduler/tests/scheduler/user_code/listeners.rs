//! Listeners hear what they hear of Airflow's own scheduler, and bad ones keep nobody from scheduling.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_component::{JobType, job_row};
use ferroflow_config::Environment;
use ferroflow_execution::Host;
use ferroflow_executor::{
    EventKind, EventSender, Executor, ExecutorSet, NamedExecutor, Orphan, Slots, Workload, WorkloadKey,
    executor_events, executor_names,
};
use ferroflow_python::listeners::{Happened, SchedulerListeners};
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::SignedDuration;
use serde_json::Value;
use test_case::test_case;
use uuid::Uuid;

use crate::user_code::site::Site;

#[tokio::test]
async fn listeners_hear_what_airflow_tells_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let official = Site::new(Server::Sqlite, None).await;
    let official = official.with("LISTENER_FILE", file("official").to_str().unwrap());
    official.official(&["listened", "schedule", "lose", "end", "examine"]);

    let ours = Site::new(Server::Sqlite, None).await;
    let ours = ours.with("LISTENER_FILE", file("ours").to_str().unwrap());
    let states = schedule_all(&ours, Duration::from_mins(2)).await;
    assert_eq!(states, ["bad failed", "good success", "lost failed"]);
    let tracked = lines(&file("ours"));
    // Airflow has listeners hear of a job before that has a type, and of one for each object that it makes.
    let (first, last) = (tracked.first().unwrap(), tracked.last().unwrap());
    assert_eq!((&first["what"], &first["job"]), (&"starting".into(), &"SchedulerJob".into()));
    assert_eq!((&last["what"], &last["job"]), (&"stopping".into(), &"SchedulerJob".into()));
    assert_eq!(of_runs_and_tasks(&tracked), of_runs_and_tasks(&lines(&file("official"))));
}

#[test_case("raises"; "one that raises")]
#[test_case("hangs"; "one that hangs")]
#[test_case("exits"; "one that ends its process")]
#[tokio::test]
async fn bad_listeners_keep_nobody_from_scheduling(mode: &str) {
    let site = Site::new(Server::Sqlite, None).await.with("LISTENER_MODE", mode);
    let site = site.with("LISTENER_FILE", "/dev/null");
    let states = schedule_all(&site, Duration::from_secs(5)).await;
    assert_eq!(states, ["bad failed", "good success", "lost failed"]);
}

/// Schedules until every run has ended. Returns the states of the runs.
async fn schedule_all(site: &Site, limit: Duration) -> Vec<String> {
    site.official(&["listened"]);
    let mut cx = site.scheduler(Duration::from_mins(2)).await;
    let host = Host::of(&Environment::from_process());
    cx.job_id = job_row::start(&cx.db, JobType::Scheduler, &host, clock::now()).await.unwrap();
    cx.run_settings.job_id = Some(cx.job_id);
    let job_id = cx.job_id;
    let parts = Parts {
        cx: Arc::new(cx),
        paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
        executors: losers(),
        width: 1,
    };
    let listeners = SchedulerListeners::start(site.python().await, limit);
    listeners.tell(Happened::Starting(job_id));
    let mut scheduler = Scheduler::new(parts, clock::now()).with_listeners(listeners);
    // Whether there is a hook is asked beside the first.
    while scheduler.cycle(clock::now()).await.unwrap().dispatched.iter().all(|pass| pass.submitted == 0) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for _ in 0..2 {
        scheduler.cycle(clock::now()).await.unwrap();
    }
    site.official(&["end"]);
    // What nobody has told is found when it is time to look around.
    let later = clock::now() + SignedDuration::from_secs(10);
    for _ in 0..3 {
        scheduler.cycle(later).await.unwrap();
    }
    let listeners = scheduler.take_listeners().unwrap();
    listeners.tell(Happened::Stopping(job_id));
    listeners.finish(limit).await;
    let question = "SELECT CONCAT(dag_id, ' ', state) AS answer FROM dag_run ORDER BY dag_id";
    ferroflow_db::testing::texts(&site.db, question).await.unwrap()
}

/// An executor that cannot start the task of the DAG `lost`, and is not done with the others. It has nothing to do but to run
/// tasks, and nobody leaves anything behind for it.
pub(crate) struct Loser(EventSender);

impl Executor for Loser {
    fn slots(&self) -> Slots {
        Slots { all: 10, ..Slots::default() }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        for key in workloads.iter().map(Workload::key) {
            if matches!(&key, WorkloadKey::Task(task) if task.key.dag_id == "lost") {
                self.0.send(key, EventKind::NotStarted("it could not be started".to_owned()));
            }
        }
    }

    fn terminate(&self, _id: Uuid) {}

    fn may_have(&self, orphan: &Orphan) -> bool {
        panic!("nobody is left behind: {orphan:?}");
    }
}

/// Executors of which that is the only one.
pub(crate) fn losers() -> Executors {
    let name = executor_names("LocalExecutor", false).unwrap().remove(0);
    let (sender, events) = executor_events();
    let executor = NamedExecutor::new(name, &sender, |events| Arc::new(Loser(events)));
    Executors::new(ExecutorSet::new([executor]), events)
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// In the order of their texts: that of runs among each other is nobody's promise.
fn of_runs_and_tasks(tracked: &[Value]) -> Vec<String> {
    let is_of_job = |line: &Value| line.get("job").is_some();
    let mut texts: Vec<String> =
        tracked.iter().filter(|line| !is_of_job(line)).map(ToString::to_string).collect();
    texts.sort();
    texts
}
