//! What chores find.

use ferroflow_db::callback::{self, Callback};
use ferroflow_db::job::{self, NewJob};
use ferroflow_db::task_instance::{self, TaskInstance, TaskInstanceKey};
use ferroflow_db::testing::texts;
use ferroflow_db::trigger::{self, TaskTrigger};
use ferroflow_db::{Db, Error, Json, ScopedFutureExt as _, Tx, dag_run};
use ferroflow_model::state::{CallbackState, JobState, RunState, TaskState};
use ferroflow_model::{extended_json, id};
use ferroflow_scheduler::Context;
use ferroflow_testkit::rows::{add_dag, add_run};
use ferroflow_testkit::{Server, TestDb};
use jiff::{Timestamp, ToSpan as _};
use serde_json::json;
use uuid::Uuid;

use crate::chores::world::context;

/// When everything here happens.
pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

pub(crate) const RUN: &str = "run";

/// A database with a DAG that has one running run, and two schedulers.
pub(crate) struct Place {
    pub(crate) database: TestDb,
    pub(crate) db: Db,
    pub(crate) run: i64,
    pub(crate) me: i64,
    pub(crate) other: i64,
}

impl Place {
    pub(crate) async fn new(server: Server) -> Self {
        let database = TestDb::migrated(server).await;
        let db = database.connect().await;
        let made = db.transact(|tx| {
            async move {
                add_dag(tx, "dag").await?;
                let run = add_run(tx, "dag", RUN, NOW).await?;
                dag_run::set_state(tx, run, RunState::Queued, RunState::Running, NOW).await?;
                Ok((run, add_scheduler(tx, NOW).await?, add_scheduler(tx, NOW).await?))
            }
            .scope_boxed()
        });
        let (run, me, other) = made.await.unwrap();
        Self { database, db, run, me, other }
    }

    /// What the steps of a scheduler are given.
    pub(crate) fn scheduler(&self, job_id: i64) -> Context {
        context(&self.db, job_id)
    }

    /// Adds task instances of as many tasks, all alike.
    pub(crate) async fn add(&self, number: usize, change: impl Fn(&mut TaskInstance) + Sync) -> Vec<Uuid> {
        let instances: Vec<TaskInstance> = (0..number)
            .map(|number| {
                let mut instance = instance(&format!("task {number:04}"));
                instance.try_number = 1;
                change(&mut instance);
                instance
            })
            .collect();
        let instances = instances.as_slice();
        let added = self
            .db
            .transact(|tx| async move { task_instance::insert_many(tx, instances).await }.scope_boxed());
        added.await.unwrap();
        instances.iter().map(|instance| instance.id).collect()
    }

    /// Adds a scheduler that was heard of then and has ended.
    pub(crate) async fn scheduler_that_ended(&self, heartbeat: Timestamp) -> i64 {
        let added = self.db.transact(|tx| {
            async move {
                let id = add_scheduler(tx, heartbeat).await?;
                job::finish(tx, id, JobState::Success, heartbeat).await?;
                Ok(id)
            }
            .scope_boxed()
        });
        added.await.unwrap()
    }

    /// Adds a trigger that nothing waits for.
    pub(crate) async fn add_trigger(&self) -> i64 {
        let new = &TaskTrigger { classpath: "a.Trigger", kwargs: "{}", queue: None, team_name: None };
        let added =
            self.db.transact(|tx| async move { trigger::insert_for_task(tx, new, NOW).await }.scope_boxed());
        added.await.unwrap()
    }

    pub(crate) async fn find(&self, id: Uuid) -> Option<TaskInstance> {
        self.db.read(|tx| async move { task_instance::find(tx, id).await }.scope_boxed()).await.unwrap()
    }

    /// Adds a deadline that has passed, with what it calls. Returns the id of the callback.
    pub(crate) async fn add_deadline(&self, callback_type: &str, kwargs: serde_json::Value) -> Uuid {
        let data = json!({
            "__var": {"path": "a.module.call", "kwargs": kwargs, "executor": null},
            "__type": "dict",
        });
        let new = &Callback {
            id: id::new_v7(NOW, rand::random()),
            callback_type: callback_type.to_owned(),
            fetch_method: "import_path".to_owned(),
            data: Json::from(data),
            bundle_name: None,
            state: Some(CallbackState::Scheduled),
            output: None,
            priority_weight: 1,
            created_at: NOW,
            trigger_id: None,
        };
        let added = self.db.transact(|tx| async move { callback::insert(tx, new).await }.scope_boxed()).await;
        added.unwrap();
        let time = |time: Timestamp| format!("'{}'", time.strftime("%Y-%m-%d %H:%M:%S.000000"));
        let uuid = |uuid: Uuid| format!("'{}'", uuid.simple());
        self.database
            .execute(format!(
                "INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id) \
                 VALUES ({}, {}, {}, {}, {}, {}, {})",
                uuid(id::new_v7(NOW, rand::random())),
                time(NOW),
                time(NOW),
                self.run,
                time(NOW - 1.hour()),
                "false",
                uuid(new.id),
            ))
            .await;
        new.id
    }

    pub(crate) async fn callback(&self, id: Uuid) -> Callback {
        let found = self.db.read(|tx| async move { callback::find(tx, id).await }.scope_boxed());
        found.await.unwrap().unwrap()
    }

    /// How many rows a table has of which something is so.
    pub(crate) async fn count(&self, table: &str, condition: &str) -> usize {
        let question = format!("SELECT 'x' AS answer FROM {table} WHERE {condition}");
        texts(&self.db, &question).await.unwrap().len()
    }
}

pub(crate) fn instance(task_id: &str) -> TaskInstance {
    let key = TaskInstanceKey {
        dag_id: "dag".to_owned(),
        run_id: RUN.to_owned(),
        task_id: task_id.to_owned(),
        map_index: id::NOT_MAPPED,
    };
    TaskInstance::new(id::new_v7(NOW, rand::random()), key, NOW)
}

/// One that was queued by a scheduler, and runs or waits for its executor.
pub(crate) fn handed_out(state: TaskState, job_id: i64) -> impl Fn(&mut TaskInstance) {
    move |instance| {
        instance.state = Some(state);
        instance.queued_by_job_id = Some(job_id);
        instance.queued_dttm = Some(NOW - 1.hour());
        instance.last_heartbeat_at = Some(NOW - 1.hour());
        instance.start_date = (state == TaskState::Running).then_some(NOW - 2.hours());
        instance.hostname = Some("elsewhere".to_owned());
    }
}

/// One that waits in a state, since an hour ago in vain.
pub(crate) fn waiting(state: TaskState) -> impl Fn(&mut TaskInstance) {
    move |instance| {
        instance.state = Some(state);
        instance.trigger_timeout = Some(NOW - 1.hour());
        instance.next_method = Some("go_on".to_owned());
        instance.next_kwargs = Some(Json::from(json!({"a": 1})));
    }
}

pub(crate) async fn add_scheduler(tx: &mut Tx, heartbeat: Timestamp) -> Result<i64, Error> {
    let new = NewJob {
        job_type: "SchedulerJob".to_owned(),
        hostname: "host".to_owned(),
        unixname: "somebody".to_owned(),
        executor_class: None,
    };
    job::insert(tx, &new, heartbeat).await
}

/// Arguments of a callback, in the server's encoding.
pub(crate) fn arguments() -> serde_json::Value {
    extended_json::encode(&json!({"x": 1}))
}
