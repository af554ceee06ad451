//! What executors are given to run, in Airflow's words.

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_supervisor::{ExecuteCallback, ExecuteTask, TestConnection, WorkloadInstance};
use uuid::Uuid;

/// What an executor is given to run.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all workloads are tasks, the largest")]
pub enum Workload {
    ExecuteTask(ExecuteTask),
    ExecuteCallback(ExecuteCallback),
    TestConnection(TestConnection),
}

/// What kind of workload it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkloadKind {
    ExecuteTask,
    ExecuteCallback,
    TestConnection,
}

/// Which workload it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkloadKey {
    Task(TaskTry),
    Callback(Uuid),
    ConnectionTest(Uuid),
}

impl Workload {
    pub fn key(&self) -> WorkloadKey {
        match self {
            Self::ExecuteTask(task) => WorkloadKey::Task(TaskTry::from(&task.ti)),
            Self::ExecuteCallback(callback) => WorkloadKey::Callback(callback.id),
            Self::TestConnection(test) => WorkloadKey::ConnectionTest(test.id),
        }
    }
}

impl WorkloadKey {
    pub fn id(&self) -> Uuid {
        match self {
            Self::Task(task) => task.id,
            Self::Callback(id) | Self::ConnectionTest(id) => *id,
        }
    }
}

/// One try of a task instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTry {
    /// Its own identity: another try has another.
    pub id: Uuid,
    pub key: TaskInstanceKey,
    pub try_number: i32,
}

impl From<&WorkloadInstance> for TaskTry {
    fn from(ti: &WorkloadInstance) -> Self {
        Self { id: ti.id, key: ti.key(), try_number: ti.try_number }
    }
}
