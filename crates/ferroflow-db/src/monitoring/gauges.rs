//! How much of what there is, for metrics.

use ferroflow_model::state::TaskState;

use crate::pool::{self, Pool};
use crate::statement::{Row, sql};
use crate::{Error, Tx};

/// Task instances that hold or want slots of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolUse {
    /// The pool.
    pub pool: String,
    /// Where they stand: scheduled, queued, running or deferred.
    pub state: TaskState,
    /// How many slots they want in all.
    pub slots: i64,
}

/// Task instances of a task that have not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskCount {
    /// Where they stand.
    pub state: TaskState,
    /// The DAG.
    pub dag_id: String,
    /// The task.
    pub task_id: String,
    /// The queue of workers.
    pub queue: Option<String>,
    /// How many they are.
    pub total: i64,
}

/// All pools, by name. They are not locked.
pub async fn pools(tx: &mut Tx) -> Result<Vec<Pool>, Error> {
    let rows = tx.fetch_all(sql!("slot_pool/list"), Vec::new()).await?;
    tx.readable(&rows, pool::pool)
}

/// What is used of the pools. What has several sizes appears several times.
pub async fn pool_use(tx: &mut Tx) -> Result<Vec<PoolUse>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/slots_by_pool"), Vec::new()).await?;
    let used = |row: &Row| {
        let (size, total): (i64, i64) = (row.get("pool_slots")?, row.get("total")?);
        Ok(PoolUse {
            pool: row.get("pool")?,
            state: row.get_parsed("state")?,
            slots: size.saturating_mul(total),
        })
    };
    tx.readable(&rows, used)
}

/// How many task instances of each task are scheduled, queued, running, deferred or waiting for a person.
pub async fn by_task(tx: &mut Tx) -> Result<Vec<TaskCount>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/count_by_task"), Vec::new()).await?;
    let count = |row: &Row| {
        Ok(TaskCount {
            state: row.get_parsed("state")?,
            dag_id: row.get("dag_id")?,
            task_id: row.get("task_id")?,
            queue: row.optional("queue")?,
            total: row.get("total")?,
        })
    };
    tx.readable(&rows, count)
}

/// How many runs are running.
pub async fn running_runs(tx: &mut Tx) -> Result<i64, Error> {
    let row = tx.fetch_optional(sql!("dag_run/count_running"), Vec::new()).await?;
    row.map_or(Ok(0), |row| row.get("total"))
}
