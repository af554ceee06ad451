//! A database with pools, DAGs and task instances, and schedulers that queue them.

use std::sync::Arc;

use ferroflow_config::{Configuration, Environment, Settings};
use ferroflow_db::dag::{self, Dag as DagRow};
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion};
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::{Db, Json, ScopedFutureExt as _, dag_bundle};
use ferroflow_execution::{Rules, Service};
use ferroflow_model::admission::{Executor, ExecutorName};
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_scheduler::chores::{OrphanRetries, RowRetries};
use ferroflow_scheduler::queue_tasks::{ExecutorSlots, QueuedTasks, TaskQueue};
use ferroflow_scheduler::run::{ExecutorNames, Pace, RunSettings};
use ferroflow_scheduler::{Context, Definitions, Progress, Questions};
use ferroflow_testkit::rows::{a_dag, a_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

pub(crate) struct Place {
    pub(crate) database: TestDb,
    pub(crate) db: Db,
}

/// A task instance to be, of a task with nothing special about it.
#[derive(Clone, Debug)]
pub(crate) struct Sketched {
    pub(crate) row: TaskInstance,
}

impl Sketched {
    pub(crate) fn new(dag_id: &str, run_id: &str, task_id: &str) -> Self {
        let key = TaskInstanceKey {
            dag_id: dag_id.to_owned(),
            run_id: run_id.to_owned(),
            task_id: task_id.to_owned(),
            map_index: NOT_MAPPED,
        };
        let mut row = TaskInstance::new(ferroflow_model::id::new_v7(NOW, rand::random()), key, NOW);
        (row.state, row.scheduled_dttm, row.try_number) = (Some(TaskState::Scheduled), Some(NOW), 1);
        Self { row }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut TaskInstance)) -> Self {
        change(&mut self.row);
        self
    }

    pub(crate) fn in_pool(self, pool: &str) -> Self {
        self.with(|row| pool.clone_into(&mut row.pool))
    }

    pub(crate) fn at(self, map_index: i32) -> Self {
        self.with(|row| row.key.map_index = map_index)
    }

    pub(crate) fn in_state(self, state: TaskState) -> Self {
        self.with(|row| row.state = Some(state))
    }
}

impl Place {
    pub(crate) async fn new(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        db.transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
            .await
            .unwrap();
        Self { database, db }
    }

    pub(crate) async fn pool(&self, name: &str, slots: i32, include_deferred: bool) {
        let columns = "pool, slots, description, include_deferred";
        let statement =
            format!("INSERT INTO slot_pool ({columns}) VALUES ('{name}', {slots}, '', {include_deferred})");
        self.database.execute(statement).await;
    }

    pub(crate) async fn dag(&self, dag_id: &str, change: impl FnOnce(&mut DagRow)) {
        let mut row = a_dag(dag_id);
        change(&mut row);
        let row = &row;
        self.db.transact(|tx| async move { dag::insert(tx, row).await }.scope_boxed()).await.unwrap();
    }

    /// Stores a DAG whose tasks have limits: their names, and the limits in all runs and in one.
    pub(crate) async fn serialize(&self, dag_id: &str, tasks: &[(&str, Option<i32>, Option<i32>)]) -> Uuid {
        let document = &Json::from(document(dag_id, tasks));
        let stored = self.db.transact(|tx| {
            async move {
                let version = NewDagVersion {
                    dag_id: dag_id.to_owned(),
                    bundle_name: Some("dags-folder".to_owned()),
                    bundle_version: None,
                    version_data: None,
                };
                let id = dag_version::insert(tx, &version, NOW).await?;
                let serialized = NewSerializedDag {
                    dag_id: dag_id.to_owned(),
                    dag_version_id: id,
                    dag_hash: "0".repeat(32),
                    data: document.clone(),
                };
                serialized_dag::insert(tx, &serialized, false, NOW).await?;
                Ok(id)
            }
            .scope_boxed()
        });
        stored.await.unwrap()
    }

    /// Makes a run that is running; the days tell when it was due.
    pub(crate) async fn run(&self, dag_id: &str, run_id: &str, days: i64) -> i64 {
        self.run_with(dag_id, run_id, days, |_| {}).await
    }

    pub(crate) async fn run_with(
        &self,
        dag_id: &str,
        run_id: &str,
        days: i64,
        change: impl FnOnce(&mut NewDagRun),
    ) -> i64 {
        let mut run = a_run(dag_id, run_id, Timestamp::UNIX_EPOCH + (24 * days).hours());
        run.state = RunState::Running;
        run.run_type = RunType::Manual;
        change(&mut run);
        let run = &run;
        let made = self.db.transact(|tx| async move { dag_run::insert(tx, run, NOW).await }.scope_boxed());
        made.await.unwrap()
    }

    pub(crate) async fn add(&self, sketched: &[Sketched]) -> Vec<Uuid> {
        let rows: &Vec<TaskInstance> = &sketched.iter().map(|one| one.row.clone()).collect();
        let added =
            self.db.transact(|tx| async move { task_instance::insert_many(tx, rows).await }.scope_boxed());
        added.await.unwrap();
        rows.iter().map(|row| row.id).collect()
    }

    pub(crate) async fn find(&self, id: Uuid) -> TaskInstance {
        let found = self.db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed());
        found.await.unwrap().unwrap()
    }

    pub(crate) async fn set_state(&self, id: Uuid, from: TaskState, to: TaskState) -> bool {
        let (from, to) = (Some(from), Some(to));
        let set = self.db.transact(|tx| {
            async move { task_instance::set_state(tx, id, from, to, NOW).await }.scope_boxed()
        });
        set.await.unwrap()
    }

    pub(crate) async fn execute(&self, statement: &str) {
        self.database.execute(statement).await;
    }

    /// A scheduler with this job.
    pub(crate) async fn scheduler(&self, job_id: i64) -> Context {
        self.scheduler_with(job_id, &[]).await
    }

    pub(crate) async fn scheduler_with(&self, job_id: i64, settings: &[(&str, &str)]) -> Context {
        let db = self.database.connect().await;
        let environment = settings
            .iter()
            .fold(Environment::empty("/"), |environment, (name, value)| environment.with(name, value));
        let settings = Settings::load(&Configuration::load(&environment).unwrap()).unwrap();
        Context {
            service: service(&db),
            db,
            settings: Arc::new(settings),
            job_id,
            run_settings: RunSettings {
                job_id: Some(job_id),
                unixname: "somebody".to_owned(),
                fernet: Arc::default(),
                longest_wait: 86_400,
                pace: Pace::Scheduled,
                rules: None,
                questions: Questions::default(),
            },
            timetables: None,
            definitions: Definitions::new(SignedDuration::from_secs(30)),
            orphan_retries: OrphanRetries::default(),
            row_retries: RowRetries::default(),
            progress: Progress::default(),
        }
    }
}

/// Passes until there is no sense in another one; what each of them queued.
pub(crate) async fn queue_all(
    queue: &mut TaskQueue,
    cx: &Context,
    executors: &[ExecutorSlots],
) -> Vec<QueuedTasks> {
    let mut passes = Vec::new();
    loop {
        let pass = queue.queue(cx, executors, NOW).await.unwrap();
        let is_last = !pass.is_worth_repeating;
        passes.push(pass);
        assert!(passes.len() < 1000, "there is no end");
        if is_last {
            return passes;
        }
    }
}

/// The ids of those that passes queued, in their order.
pub(crate) fn ids(passes: &[QueuedTasks]) -> Vec<Uuid> {
    passes.iter().flat_map(|pass| &pass.queued).map(|queued| queued.row.id).collect()
}

/// One executor with so many free slots.
pub(crate) fn local(slots: i64) -> Vec<ExecutorSlots> {
    let name = ExecutorName {
        alias: Some("LocalExecutor".into()),
        module_path: "airflow.executors.local_executor.LocalExecutor".into(),
        team: None,
    };
    let executor = Executor { name: Arc::new(name), slots, occupied: 0 };
    vec![ExecutorSlots { executor, names: ExecutorNames::None }]
}

fn service(db: &Db) -> Service {
    Service {
        db: db.clone(),
        fernet: Arc::new(Fernet::new("").unwrap()),
        environment: Arc::new(Environment::empty("/")),
        backend: None,
        timetables: None,
        rules: Rules {
            max_map_length: 1024,
            max_downstream_keys: 1000,
            rendered_fields_runs: Some(30),
            multi_team: false,
            clear_state_on_success: false,
        },
    }
}

fn document(dag_id: &str, tasks: &[(&str, Option<i32>, Option<i32>)]) -> Value {
    let operator = |(task_id, per_dag, per_run): &(&str, Option<i32>, Option<i32>)| {
        json!({"__type": "operator", "__var": {
            "task_id": task_id, "task_type": "Node", "_task_module": "nodes", "downstream_task_ids": [],
            "retries": 1, "max_active_tis_per_dag": per_dag, "max_active_tis_per_dagrun": per_run,
        }})
    };
    let children: serde_json::Map<String, Value> =
        tasks.iter().map(|(task_id, ..)| ((*task_id).to_owned(), json!(["operator", task_id]))).collect();
    json!({"__version": 3, "dag": {
        "dag_id": dag_id, "fileloc": "/dags/sketch.py", "relative_fileloc": "sketch.py", "timezone": "UTC",
        "catchup": false, "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
        "tasks": tasks.iter().map(operator).collect::<Vec<_>>(), "dag_dependencies": [], "edge_info": {},
        "params": [],
        "task_group": {"_group_id": null, "prefix_group_id": false, "tooltip": "", "ui_color": "a",
            "ui_fgcolor": "b", "children": children, "upstream_group_ids": [], "downstream_group_ids": [],
            "upstream_task_ids": [], "downstream_task_ids": []},
    }})
}
