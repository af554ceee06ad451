//! A whole scheduler whose executor runs nothing: the test says what becomes of tasks.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_executor::{
    EventKind, EventSender, Executor, ExecutorSet, NamedExecutor, Orphan, Slots, TaskTry, Workload,
    WorkloadInstance, WorkloadKey, executor_events,
};
use ferroflow_model::admission::ExecutorName;
use ferroflow_model::id::{NOT_MAPPED, new_v7};
use ferroflow_model::state::{RunState, TaskState};
use ferroflow_scheduler::cycle::CycleReport;
use ferroflow_scheduler::executors::Executors;
use ferroflow_scheduler::scheduler::{Parts, Scheduler};
use ferroflow_scheduler::{Context, LogPaths};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::runs::place::{Place, at};

pub(crate) struct Whole {
    pub(crate) scheduler: Scheduler,
    pub(crate) now: Timestamp,
    /// The scheduler's own: what is told by its database reaches it.
    pub(crate) cx: Arc<Context>,
    handed: Handed,
    /// Where its executor tells what happens.
    told: EventSender,
}

/// The task instances that an executor was given.
type Handed = Arc<Mutex<Vec<WorkloadInstance>>>;

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
        let (handed, name) = (Handed::default(), "test.Hands".into());
        let name = ExecutorName { alias: None, module_path: name, team: None };
        let (sender, events) = executor_events();
        let told = EventSender::new(Arc::new(name.clone()), sender.clone());
        let executor = NamedExecutor::new(name, &sender, |_| Arc::new(Hands(Arc::clone(&handed))));
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
            executors: Executors::new(ExecutorSet::new([executor]), events),
            width: 4,
        };
        let cx = Arc::clone(&parts.cx);
        Self { scheduler: Scheduler::new(parts, now), now, cx, handed, told }
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
        let handed = std::mem::take(&mut *self.handed.lock().unwrap());
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
        for kind in [EventKind::StateSet(TaskState::Success), EventKind::Ended] {
            self.told.send(WorkloadKey::Task(TaskTry { id, key: key.clone(), try_number: 1 }), kind);
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
        let kind = EventKind::NotStarted("it is ill".to_owned());
        self.told.send(WorkloadKey::Task(TaskTry { id, key, try_number: 1 }), kind);
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

/// What was running when its scheduler went is elsewhere.
struct Hands(Handed);

impl Executor for Hands {
    fn slots(&self) -> Slots {
        Slots { all: 10_000, ..Slots::default() }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        for workload in workloads {
            let Workload::ExecuteTask(task) = workload else { panic!("{workload:?} is not asked for") };
            self.0.lock().unwrap().push(task.ti);
        }
    }

    fn terminate(&self, _id: Uuid) {}

    fn can_revoke(&self) -> bool {
        true
    }

    fn may_have(&self, orphan: &Orphan) -> bool {
        orphan.has_begun
    }
}
