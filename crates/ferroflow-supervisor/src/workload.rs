//! What an executor is given to run.

use ferroflow_model::Json;
use ferroflow_model::key::TaskInstanceKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// A task instance to run: Airflow's `ExecuteTask`, in the order of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExecuteTask {
    /// What a worker elsewhere shows to the Execution API; empty where the work stays in this process.
    pub token: String,
    /// The DAG's file, relative to its bundle.
    pub dag_rel_path: String,
    /// The bundle.
    pub bundle_info: Bundle,
    /// Where its log goes, relative to `[logging] base_log_folder`.
    pub log_path: Option<String>,
    /// The task instance.
    pub ti: WorkloadInstance,
    /// The import path of the integration that Sentry uses; empty for none.
    #[serde(default)]
    pub sentry_integration: String,
}

/// A bundle of DAG files, at a version if the run is tied to one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bundle {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// The task instance of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadInstance {
    /// The identity of this try.
    pub id: Uuid,
    /// The task.
    pub task_id: String,
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// How often it was started, with this time.
    pub try_number: i32,
    /// The version of the DAG that its task is from.
    pub dag_version_id: Option<Uuid>,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// The host that it ran on before.
    pub hostname: Option<String>,
    /// Where it stands in a trace.
    pub context_carrier: Option<Value>,
    /// The queue of workers.
    pub queue: String,
    /// How many slots of its pool it takes.
    pub pool_slots: i32,
    /// The higher, the earlier.
    pub priority_weight: i32,
}

/// A callback to run: Airflow's `ExecuteCallback`. Its row is queued.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteCallback {
    /// Its identity.
    pub id: Uuid,
    /// What to call, as it is stored.
    pub data: Json,
    /// The file of the DAG that it is about, relative to its bundle.
    pub dag_rel_path: String,
    /// The bundle.
    pub bundle_info: Bundle,
    /// Where its log goes, relative to `[logging] base_log_folder`.
    pub log_path: String,
    /// The job of the scheduler that has queued it.
    pub job_id: i64,
}

/// A connection to try: Airflow's `TestConnection`. Its row is queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestConnection {
    /// The identity of the test.
    pub id: Uuid,
    /// The connection.
    pub connection_id: String,
}

impl WorkloadInstance {
    /// What it is of.
    pub fn key(&self) -> TaskInstanceKey {
        TaskInstanceKey {
            dag_id: self.dag_id.clone(),
            run_id: self.run_id.clone(),
            task_id: self.task_id.clone(),
            map_index: self.map_index,
        }
    }
}
