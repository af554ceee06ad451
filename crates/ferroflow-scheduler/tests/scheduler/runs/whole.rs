//! A whole scheduler whose executor runs nothing: the test says what becomes of tasks.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_execution::Refusal;
use ferroflow_executor::{Adopted, Event, EventKind, Executor, Orphan, Workload, WorkloadInstance};
use ferroflow_model::id::{NOT_MAPPED, new_v7};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_scheduler::cycle::CycleReport;
use ferroflow_scheduler::executors::{ExecutorName, Executors, NamedExecutor};
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_scheduler::{Context, LogPaths, chores};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::runs::place::{Place, at};

pub(crate) struct Whole {
    pub(crate) scheduler: Scheduler<Hands, Nobody>,
    pub(crate) now: Timestamp,
    /// The scheduler's own: what is told by its database reaches it.
    pub(crate) cx: Arc<Context>,
    field: Arc<Mutex<Field>>,
}

#[derive(Default)]
struct Field {
    handed: Vec<WorkloadInstance>,
    told: VecDeque<Event>,
}

impl Whole {
    /// There are the runs that a test makes, and no others.
    pub(crate) async fn new(place: &Place, now: Timestamp) -> Self {
        Self::with(place, now, "False").await
    }

    /// One that makes the runs that are due.
    pub(crate) async fn with_schedules(place: &Place, now: Timestamp) -> Self {
        Self::with(place, now, "True").await
    }

    async fn with(place: &Place, now: Timestamp, use_job_schedule: &str) -> Self {
        let field = Arc::<Mutex<Field>>::default();
        let executor = NamedExecutor {
            name: ExecutorName { alias: None, module_path: "test.Hands".to_owned(), team: None },
            slots: 10_000,
            names: ExecutorNames::None,
            executor: Hands { field: Arc::clone(&field) },
        };
        let parts = Parts {
            cx: Arc::new(
                place
                    .scheduler_with(&[
                        ("AIRFLOW__CORE__PARALLELISM", "10000"),
                        ("AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE", use_job_schedule),
                    ])
                    .await,
            ),
            paths: LogPaths::new("{dag_id}/{task_id}/{try_number}.log").unwrap(),
            executors: Executors::new(vec![executor]),
            adopters: Nobody,
            width: 4,
        };
        let cx = Arc::clone(&parts.cx);
        Self { scheduler: Scheduler::new(parts, now), now, cx, field }
    }

    /// One cycle, a little later than the last.
    pub(crate) async fn cycle(&mut self) -> CycleReport {
        self.now += SignedDuration::from_millis(1);
        self.scheduler.cycle(self.now).await.unwrap()
    }

    /// Cycles until there is nothing more to do at once.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..100 {
            self.cycle().await;
            if !self.scheduler.pause(self.now).is_zero() {
                return;
            }
        }
        panic!("there is always something more to do");
    }

    /// A while passes.
    pub(crate) async fn after(&mut self, length: SignedDuration) {
        self.now += length;
        self.settle().await;
    }

    /// The task instances that were handed over since the last time, as `dag run task`, sorted.
    pub(crate) fn handed(&self) -> Vec<String> {
        let handed = std::mem::take(&mut self.field.lock().unwrap().handed);
        let mut names: Vec<String> =
            handed.iter().map(|ti| format!("{} {} {}", ti.dag_id, ti.run_id, ti.task_id)).collect();
        names.sort();
        names
    }

    /// A task that was handed over succeeds, and its process tells.
    pub(crate) async fn succeed(&self, place: &Place, dag_id: &str, run_id: &str, task_id: &str) {
        let id = place.set_state(dag_id, run_id, task_id, "success", self.now).await;
        let key = TaskInstanceKey {
            dag_id: dag_id.to_owned(),
            run_id: run_id.to_owned(),
            task_id: task_id.to_owned(),
            map_index: NOT_MAPPED,
        };
        for what in [EventKind::StateSet(TaskState::Success), EventKind::Ended] {
            let event = Event { id, key: key.clone(), try_number: 1, what };
            self.field.lock().unwrap().told.push_back(event);
        }
    }

    /// A task that was handed over cannot be started, which its executor tells.
    pub(crate) fn cannot_start(&self, id: Uuid, dag_id: &str, run_id: &str, task_id: &str) {
        let key = TaskInstanceKey {
            dag_id: dag_id.to_owned(),
            run_id: run_id.to_owned(),
            task_id: task_id.to_owned(),
            map_index: NOT_MAPPED,
        };
        let event = Event { id, key, try_number: 1, what: EventKind::NotStarted("it is ill".to_owned()) };
        self.field.lock().unwrap().told.push_back(event);
    }
}

impl Place {
    /// Writes a state, as somebody does of whom we do not hear.
    pub(crate) async fn set_state(
        &self,
        dag_id: &str,
        run_id: &str,
        task_id: &str,
        state: &str,
        now: Timestamp,
    ) -> Uuid {
        let rows = self.db.read(|tx| {
            async move { task_instance::scheduling::of_run(tx, dag_id, run_id).await }.scope_boxed()
        });
        let row = rows.await.unwrap().into_iter().find(|row| row.task_id == task_id).unwrap();
        let (from, to) = (row.state, Some(state.parse().unwrap()));
        let written = self.db.transact(|tx| {
            async move { task_instance::set_state(tx, row.id, from, to, now).await }.scope_boxed()
        });
        assert!(written.await.unwrap());
        row.id
    }

    /// Adds running runs, each with an instance of each of these tasks.
    pub(crate) async fn running(&self, runs: &[NewDagRun], tasks: &[&str], state: Option<TaskState>) {
        let made = self.db.transact(|tx| {
            async move {
                let mut instances = Vec::new();
                let dag_ids: BTreeSet<&str> = runs.iter().map(|run| run.dag_id.as_str()).collect();
                let dag_ids: Vec<&str> = dag_ids.into_iter().collect();
                let versions = serialized_dag::latest_hashes(tx, &dag_ids).await?;
                for run in runs {
                    let (state_of_run, start_date) = (RunState::Running, Some(run.run_after));
                    let run = NewDagRun { state: state_of_run, start_date, ..run.clone() };
                    dag_run::insert(tx, &run, at("2024-01-01")).await?;
                    for task_id in tasks {
                        let key = TaskInstanceKey {
                            dag_id: run.dag_id.clone(),
                            run_id: run.run_id.clone(),
                            task_id: (*task_id).to_owned(),
                            map_index: NOT_MAPPED,
                        };
                        let id = new_v7(at("2024-01-01"), rand::random());
                        let mut row = TaskInstance::new(id, key, at("2024-01-01"));
                        row.dag_version_id = versions.get(&run.dag_id).map(|(id, _)| *id);
                        row.state = state;
                        instances.push(row);
                    }
                }
                task_instance::insert_many(tx, &instances).await
            }
            .scope_boxed()
        });
        made.await.unwrap();
    }
}

pub(crate) struct Hands {
    field: Arc<Mutex<Field>>,
}

impl Executor for Hands {
    fn free_slots(&self) -> usize {
        10_000
    }

    fn submit(&mut self, workload: Workload) {
        self.field.lock().unwrap().handed.push(workload.ti);
    }

    async fn next_event(&mut self) -> Event {
        let next = self.field.lock().unwrap().told.pop_front();
        match next {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }

    fn terminate(&mut self, _id: Uuid) {}
}

/// Nothing is ever left behind here.
#[derive(Clone)]
pub(crate) struct Nobody;

impl chores::Executors for Nobody {
    fn has(&self, executor: Option<&str>) -> bool {
        executor.is_none()
    }

    async fn adopt(&self, _orphan: &Orphan) -> Result<Adopted, Refusal> {
        Ok(Adopted::Elsewhere)
    }

    fn can_take_back(&self, _executor: Option<&str>) -> bool {
        true
    }

    fn runs_callbacks(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn tests_connections(&self, _executor: Option<&str>) -> bool {
        false
    }

    fn free_slots(&self) -> usize {
        10_000
    }
}
