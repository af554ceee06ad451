//! An executor that runs nothing: it writes what a script says.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use ferroflow_db::task_instance::{self, TaskInstanceKey};
use ferroflow_db::{Db, ScopedFutureExt as _};
use ferroflow_executor::{EventKind, EventSender, ExecuteTask, Executor, Slots, Workload, WorkloadKey};
use ferroflow_model::state::TaskState;
use ferroflow_telemetry::clock;
use ferroflow_testkit::TestDb;
use jiff::SignedDuration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use uuid::Uuid;

use crate::driven::place::DAG;

/// What a try does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Does {
    Succeeds,
    Fails,
    Skips,
    /// Fails, and asks for another try.
    Retries,
    /// Asks to be looked at again after so many milliseconds.
    Reschedules(i64),
    /// Pushes a list of this length, and succeeds.
    Pushes(i32),
    /// Is a branch that goes on with these.
    Follows(Vec<&'static str>),
    /// Defers, for a trigger that fires after a while.
    Defers,
    /// Never starts.
    NeverStarts,
    /// Dies without a word.
    Dies,
    /// Runs until it is told to end.
    Runs,
}

/// What each task does, try by try; the last again and again. A task that is not named succeeds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script(HashMap<String, Vec<Does>>);

impl Script {
    pub(crate) fn new(tasks: impl IntoIterator<Item = (&'static str, Vec<Does>)>) -> Self {
        Self(tasks.into_iter().map(|(task, does)| (task.to_owned(), does)).collect())
    }

    fn next(&mut self, key: &TaskInstanceKey) -> Does {
        let own = format!("{}[{}]", key.task_id, key.map_index);
        let name = if self.0.contains_key(&own) { own } else { key.task_id.clone() };
        let Some(does) = self.0.get_mut(&name) else { return Does::Succeeds };
        if does.len() > 1 { does.remove(0) } else { does[0].clone() }
    }
}

/// Takes tasks, for a player.
pub(crate) struct Fake {
    /// Those that have not ended.
    tasks: Mutex<HashMap<Uuid, Stage>>,
    waiting: UnboundedSender<ExecuteTask>,
    events: EventSender,
}

#[derive(Clone, Debug, PartialEq)]
enum Stage {
    Waiting,
    /// Until it is told to end.
    Running(Box<ExecuteTask>),
}

/// Does what tasks do.
pub(crate) struct Player<'a> {
    fake: &'a Fake,
    db: &'a Db,
    database: &'a TestDb,
    script: Script,
    dag_run_id: i64,
}

impl Fake {
    pub(crate) fn new(events: EventSender) -> (Self, UnboundedReceiver<ExecuteTask>) {
        let (waiting, given) = unbounded_channel();
        (Self { tasks: Mutex::default(), waiting, events }, given)
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<Uuid, Stage>> {
        self.tasks.lock().unwrap()
    }

    /// Its slot is free before that is told.
    fn ends(&self, task: &ExecuteTask, kind: EventKind) {
        self.tasks().remove(&task.ti.id);
        self.tells(task, kind);
    }

    fn tells(&self, task: &ExecuteTask, kind: EventKind) {
        self.events.send(WorkloadKey::Task((&task.ti).into()), kind);
    }
}

impl<'a> Player<'a> {
    pub(crate) fn new(
        fake: &'a Fake,
        (db, database): (&'a Db, &'a TestDb),
        script: Script,
        dag_run_id: i64,
    ) -> Self {
        Self { fake, db, database, script, dag_run_id }
    }

    /// One task after the other, without end.
    pub(crate) async fn play_all(mut self, mut given: UnboundedReceiver<ExecuteTask>) {
        loop {
            match given.recv().await {
                Some(task) => self.play(task).await,
                None => std::future::pending().await,
            }
        }
    }

    async fn set(&self, id: Uuid, from: TaskState, to: TaskState) {
        let now = clock::now();
        let set = self.db.transact(|tx| {
            async move {
                task_instance::scheduling::finish_at_once(tx, &[id], (Some(from), to), (now, now), now).await
            }
            .scope_boxed()
        });
        assert_eq!(set.await.unwrap(), 1, "{from} to {to}");
    }

    async fn begin(&self, id: Uuid) {
        let now = clock::now();
        let (from, to) = (Some(TaskState::Queued), Some(TaskState::Running));
        let set = self.db.transact(|tx| {
            async move { task_instance::set_state(tx, id, from, to, now).await }.scope_boxed()
        });
        assert!(set.await.unwrap());
    }

    async fn xcom(&self, ti: &ferroflow_executor::WorkloadInstance, key: &str, value: &str) {
        let columns = "dag_run_id, task_id, map_index, dag_id, run_id, timestamp, value, ";
        let key_column =
            if self.db.dialect() == ferroflow_db::Dialect::MariaDb { "`key`" } else { "\"key\"" };
        self.database
            .execute(format!(
                "INSERT INTO xcom ({columns}{key_column}) VALUES ({}, '{}', {}, '{DAG}', '{}', '2024-01-01 00:00:00', '{value}', '{key}')",
                self.dag_run_id, ti.task_id, ti.map_index, ti.run_id
            ))
            .await;
    }

    /// How this database writes an id.
    fn id(&self, id: Uuid) -> String {
        if self.db.dialect() == ferroflow_db::Dialect::Postgres {
            id.hyphenated().to_string()
        } else {
            id.simple().to_string()
        }
    }

    async fn play(&mut self, task: ExecuteTask) {
        let ti = &task.ti;
        let key = ti.key();
        let does = self.script.next(&key);
        if does == Does::NeverStarts {
            return self.fake.ends(&task, EventKind::NotStarted("no room".to_owned()));
        }
        self.begin(ti.id).await;
        let state = match does {
            Does::Succeeds => Some(TaskState::Success),
            Does::Fails => Some(TaskState::Failed),
            Does::Skips => Some(TaskState::Skipped),
            Does::Retries => Some(TaskState::UpForRetry),
            Does::Reschedules(milliseconds) => {
                let at = clock::now() + SignedDuration::from_millis(milliseconds);
                let at = at.strftime("%Y-%m-%d %H:%M:%S%.6f");
                let id = self.id(ti.id);
                self.database
                    .execute(format!(
                        "INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) VALUES ('{id}', '{at}', '{at}', 0, '{at}')"
                    ))
                    .await;
                Some(TaskState::UpForReschedule)
            }
            Does::Pushes(length) => {
                if ti.map_index < 0 {
                    self.database
                        .execute(format!(
                            "INSERT INTO task_map (dag_id, task_id, run_id, map_index, length) VALUES ('{DAG}', '{}', '{}', -1, {length})",
                            ti.task_id, ti.run_id
                        ))
                        .await;
                } else {
                    self.xcom(ti, "return_value", "1").await;
                }
                Some(TaskState::Success)
            }
            Does::Follows(tasks) => {
                let value = serde_json::json!({"followed": tasks}).to_string();
                self.xcom(ti, "skipmixin_key", &value).await;
                Some(TaskState::Success)
            }
            Does::Defers => Some(TaskState::Deferred),
            Does::Dies => None,
            Does::Runs => {
                self.fake.tasks().insert(ti.id, Stage::Running(Box::new(task)));
                return;
            }
            Does::NeverStarts => unreachable!("told above"),
        };
        if let Some(state) = state {
            self.set(ti.id, TaskState::Running, state).await;
            if state == TaskState::UpForRetry {
                // The next try has an identity of its own.
                // MariaDB takes no other bits for a UUID than such as have a version.
                let new = ferroflow_model::id::new_v7(clock::now(), rand::random());
                let (old, new) = (self.id(ti.id), self.id(new));
                self.database
                    .execute(format!("UPDATE task_instance SET id = '{new}' WHERE id = '{old}'"))
                    .await;
            }
        }
        if let Some(state) = state {
            self.fake.tells(&task, EventKind::StateSet(state));
        }
        self.fake.ends(&task, EventKind::Ended);
    }
}

impl Executor for Fake {
    fn slots(&self) -> Slots {
        Slots { all: 3, tasks: self.tasks().len(), others: 0 }
    }

    fn submit(&self, workloads: Vec<Workload>) {
        for workload in workloads {
            let Workload::ExecuteTask(task) = workload else { panic!("{workload:?} is not asked for") };
            self.tasks().insert(task.ti.id, Stage::Waiting);
            self.waiting.send(task).unwrap();
        }
    }

    fn terminate(&self, id: Uuid) {
        let found = self.tasks().get(&id).cloned();
        // Its row has been changed already, by whoever does not want it any more.
        if let Some(Stage::Running(task)) = found {
            self.ends(&task, EventKind::Ended);
        }
    }
}
