//! What a step writes is dated when the step began, however long those before it took.

use std::sync::Arc;

use ferroflow_executor::{
    Executor, ExecutorSet, NamedExecutor, Slots, Workload, executor_events, executor_names,
};
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::scheduler::{Loops, Parts, Scheduler};
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::runs::place::{Place, Plan, at, daily};

#[tokio::test]
async fn a_slow_step_makes_no_date_old() {
    let (start, later) = (at("2024-01-02"), at("2024-01-02T00:02:00"));
    clock::pretend(Some(start));
    let place = Place::new(Server::Sqlite, &[Plan::new("a", daily())]).await;
    let name = executor_names("LocalExecutor", false).unwrap().remove(0);
    let (sender, events) = executor_events();
    let executor = NamedExecutor::new(name, &sender, |_| Arc::new(Slow(later)));
    let parts = Parts {
        cx: Arc::new(place.scheduler().await),
        paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
        executors: Executors::new(ExecutorSet::new([executor]), events),
        width: 1,
    };
    Scheduler::new(parts, start).run(&CancellationToken::new(), Loops::new(Some(1), false)).await;
    let dates = "SELECT CONCAT(queued_at, ' ', start_date) AS answer FROM dag_run";
    let dates = ferroflow_db::testing::texts(&place.db, dates).await.unwrap().remove(0);
    assert_eq!(dates.matches("2024-01-02 00:02:00").count(), 2, "{dates}");
}

/// An executor of which it takes two minutes to hear that it has nothing to do.
struct Slow(Timestamp);

impl Executor for Slow {
    fn slots(&self) -> Slots {
        clock::pretend(Some(self.0));
        Slots { all: 10, ..Slots::default() }
    }

    fn submit(&self, _workloads: Vec<Workload>) {}

    fn terminate(&self, _id: Uuid) {}
}
