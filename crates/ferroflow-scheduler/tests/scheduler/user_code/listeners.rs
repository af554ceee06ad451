//! Listeners hear what they hear of Airflow's own scheduler, and bad ones keep nobody from scheduling.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferroflow_config::Environment;
use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_execution::Host;
use ferroflow_executor::{Event, EventKind, Executor, Workload};
use ferroflow_python::listeners::{Happened, SchedulerListeners};
use ferroflow_scheduler::executors::{Executors, NamedExecutor, executor_names};
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_scheduler::{LogPaths, job};
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::SignedDuration;
use serde_json::Value;
use test_case::test_case;
use uuid::Uuid;

use crate::user_code::nobody::Nobody;
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
    cx.job_id = job::start(&cx.db, &host, clock::now()).await.unwrap();
    cx.run_settings.job_id = Some(cx.job_id);
    let job_id = cx.job_id;
    let name = executor_names("LocalExecutor", false).unwrap().remove(0);
    let executor = NamedExecutor { name, slots: 10, names: ExecutorNames::None, executor: Loser::default() };
    let parts = Parts {
        cx: Arc::new(cx),
        paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
        executors: Executors::new(vec![executor]),
        adopters: Nobody,
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

/// An executor that cannot start the task of the DAG `lost`, and is not done with the others.
#[derive(Default)]
pub(crate) struct Loser(VecDeque<Event>);

impl Executor for Loser {
    fn free_slots(&self) -> usize {
        10
    }

    fn submit(&mut self, workload: Workload) {
        let ti = workload.ti;
        if ti.dag_id == "lost" {
            let what = EventKind::NotStarted("it could not be started".to_owned());
            let key = TaskInstanceKey {
                dag_id: ti.dag_id,
                run_id: ti.run_id,
                task_id: ti.task_id,
                map_index: ti.map_index,
            };
            self.0.push_back(Event { id: ti.id, key, try_number: ti.try_number, what });
        }
    }

    async fn next_event(&mut self) -> Event {
        match self.0.pop_front() {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    fn terminate(&mut self, _id: Uuid) {}
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
