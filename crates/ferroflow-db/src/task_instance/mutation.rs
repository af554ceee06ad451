//! How a task instance is to be run, where a hook of the site has another opinion than its task.

use jiff::Timestamp;
use uuid::Uuid;

use crate::encoding::executor_config::ExecutorConfig;
use crate::statement::{binds, sql};
use crate::task_instance::TaskInstance;
use crate::{Error, Tx};

/// What follows from a task, unless a hook changes it.
#[derive(Clone, Debug, PartialEq)]
pub struct MutableFields {
    /// How many tries may follow the first.
    pub max_tries: i32,
    /// The pool it takes slots from.
    pub pool: String,
    /// How many.
    pub pool_slots: i32,
    /// The queue of workers.
    pub queue: Option<String>,
    /// The higher, the earlier.
    pub priority_weight: Option<i32>,
    /// The class of its operator.
    pub operator: Option<String>,
    /// The name that its operator goes by.
    pub custom_operator_name: Option<String>,
    /// The executor.
    pub executor: Option<String>,
    /// What the executor is told.
    pub executor_config: Option<ExecutorConfig>,
}

impl MutableFields {
    /// Gives an instance this shape.
    pub fn apply_to(self, instance: &mut TaskInstance) {
        instance.max_tries = self.max_tries;
        instance.pool = self.pool;
        instance.pool_slots = self.pool_slots;
        instance.queue = self.queue;
        instance.priority_weight = self.priority_weight;
        instance.operator = self.operator;
        instance.custom_operator_name = self.custom_operator_name;
        instance.executor = self.executor;
        instance.executor_config = self.executor_config;
    }
}

/// Gives an instance that is there another shape, whatever its state.
pub async fn update(tx: &mut Tx, id: Uuid, shape: &MutableFields, now: Timestamp) -> Result<u64, Error> {
    let binds = binds![
        shape.max_tries,
        shape.pool.as_str(),
        shape.pool_slots,
        shape.queue.as_deref(),
        shape.priority_weight,
        shape.operator.as_deref(),
        shape.custom_operator_name.as_deref(),
        shape.executor.as_deref(),
        shape.executor_config.clone().map(ExecutorConfig::into_bytes),
        now,
        id,
    ];
    tx.execute(sql!("task_instance/mutate"), binds).await
}
