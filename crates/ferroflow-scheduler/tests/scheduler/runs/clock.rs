//! What a step writes is dated when the step began, however long those before it took.

use std::sync::Arc;

use ferroflow_executor::{Event, Executor, Workload};
use ferroflow_scheduler::LogPaths;
use ferroflow_scheduler::executors::{Executors, NamedExecutor, executor_names};
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_scheduler::scheduler::{Loops, Parts, Scheduler};
use ferroflow_telemetry::clock;
use ferroflow_testkit::Server;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::runs::nobody::Nobody;
use crate::runs::place::{Place, Plan, at, daily};

#[tokio::test]
async fn a_slow_step_makes_no_date_old() {
    let (start, later) = (at("2024-01-02"), at("2024-01-02T00:02:00"));
    clock::pretend(Some(start));
    let place = Place::new(Server::Sqlite, &[Plan::new("a", daily())]).await;
    let name = executor_names("LocalExecutor", false).unwrap().remove(0);
    let executor = NamedExecutor { name, slots: 10, names: ExecutorNames::None, executor: Slow(later) };
    let parts = Parts {
        cx: Arc::new(place.scheduler().await),
        paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
        executors: Executors::new(vec![executor]),
        adopters: Nobody,
        width: 1,
    };
    Scheduler::new(parts, start).run(&CancellationToken::new(), Loops::new(Some(1), false)).await;
    let dates = "SELECT CONCAT(queued_at, ' ', start_date) AS answer FROM dag_run";
    let dates = ferroflow_db::testing::texts(&place.db, dates).await.unwrap().remove(0);
    assert_eq!(dates.matches("2024-01-02 00:02:00").count(), 2, "{dates}");
}

/// An executor of which it takes two minutes to hear that it has nothing to tell.
struct Slow(Timestamp);

impl Executor for Slow {
    fn free_slots(&self) -> usize {
        10
    }

    fn submit(&mut self, _workload: Workload) {}

    async fn next_event(&mut self) -> Event {
        clock::pretend(Some(self.0));
        std::future::pending().await
    }

    fn terminate(&mut self, _id: Uuid) {}
}
