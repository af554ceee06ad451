//! What decides who may be queued: who waits, what is in use, and the rows of those who may.
//!
//! Everything here is asked by the scheduler that holds the [pools](crate::pool::lock_all), except for
//! [`runs_with_scheduled`] and [`scheduled_of_runs`]. What is asked about those that are at work costs as much as there
//! are of them; how many wait, or have ended, plays no part.

use ferroflow_model::state::RunType;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::row::task_instance;
use crate::task_instance::{TaskInstance, TaskInstanceKey};
use crate::{Error, Tx};

/// How many values a list of a statement has at most.
const BATCH: usize = 512;

/// Instances of one task in one run that stand alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInRun {
    /// The DAG.
    pub dag_id: String,
    /// The run.
    pub run_id: String,
    /// The task.
    pub task_id: String,
    /// How many there are.
    pub instances: i64,
}

/// Instances that hold slots of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingSlots {
    /// The pool.
    pub pool: String,
    /// How many slots each of them takes.
    pub pool_slots: i32,
    /// How many there are.
    pub instances: i64,
}

/// An instance that waits to be queued, in a run that is running.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// The identity of its try.
    pub id: Uuid,
    /// What it is of.
    pub key: TaskInstanceKey,
    /// The higher, the sooner.
    pub priority_weight: Option<i32>,
    /// The pool it takes slots from.
    pub pool: String,
    /// How many.
    pub pool_slots: i32,
    /// The executor that it asks for.
    pub executor: Option<String>,
    /// When it became ready.
    pub scheduled_dttm: Option<Timestamp>,
    /// The row of its run.
    pub dag_run_id: i64,
    /// When its run was due.
    pub run_after: Timestamp,
    /// Why its run exists.
    pub run_type: RunType,
    /// Whether its DAG is paused.
    pub is_paused: bool,
    /// How many instances of its run may be at work.
    pub max_active_tasks: i32,
    /// Whether a task of its DAG limits how many of its own instances may be active.
    pub has_task_concurrency_limits: bool,
    /// The team of its DAG.
    pub team_name: Option<String>,
}

/// A run in which instances wait to be queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWithScheduled {
    /// Its row.
    pub dag_run_id: i64,
    /// The DAG.
    pub dag_id: String,
    /// How many wait.
    pub instances: i64,
    /// When the last of them became ready.
    pub newest: Option<Timestamp>,
    /// How many instances of the run may be at work.
    pub max_active_tasks: i32,
    /// The team of its DAG.
    pub team_name: Option<String>,
}

/// All that are queued or running, by the pools whose slots they hold.
pub async fn holding_slots(tx: &mut Tx) -> Result<Vec<HoldingSlots>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/holding_slots"), Vec::new()).await?;
    tx.readable(&rows, holding)
}

/// All that are queued or running.
pub async fn at_work(tx: &mut Tx) -> Result<Vec<TaskInRun>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/in_use"), Vec::new()).await?;
    tx.readable(&rows, task_in_run)
}

/// The same of some DAGs: none is listed twice.
pub async fn at_work_of(tx: &mut Tx, dag_ids: &[&str]) -> Result<Vec<TaskInRun>, Error> {
    let mut found = Vec::new();
    for dags in dag_ids.chunks(BATCH) {
        let list = vec![dags.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("task_instance/in_use_of_dags"), list).await?;
        found.extend(tx.readable(&rows, task_in_run)?);
    }
    Ok(found)
}

/// Those of some pools that are deferred.
pub async fn deferred_in_pools(tx: &mut Tx, pools: &[&str]) -> Result<Vec<HoldingSlots>, Error> {
    let mut found = Vec::new();
    for pools in pools.chunks(BATCH) {
        let list = vec![pools.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("task_instance/deferred_in_pools"), list).await?;
        found.extend(tx.readable(&rows, holding)?);
    }
    Ok(found)
}

/// Those that wait for a trigger or a person: of any of these DAGs, the tasks of any of these names. Neither list holds
/// anything twice.
pub async fn deferred_of_tasks(
    tx: &mut Tx,
    dag_ids: &[&str],
    task_ids: &[&str],
) -> Result<Vec<TaskInRun>, Error> {
    let mut found = Vec::new();
    for dags in dag_ids.chunks(BATCH) {
        for tasks in task_ids.chunks(BATCH) {
            let lists: Vec<Bind> = vec![dags.iter().copied().collect(), tasks.iter().copied().collect()];
            let rows = tx.fetch_all(sql!("task_instance/deferred_of_tasks"), lists).await?;
            found.extend(tx.readable(&rows, task_in_run)?);
        }
    }
    Ok(found)
}

/// Of these, those that wait to be queued in a run that is running.
pub async fn scheduled_by_id(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<Scheduled>, Error> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let list = vec![ids.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("task_instance/scheduled_by_id"), list).await?;
        found.extend(tx.readable(&rows, scheduled)?);
    }
    Ok(found)
}

/// Those of some runs that wait to be queued.
pub async fn scheduled_of_runs(tx: &mut Tx, dag_run_ids: &[i64]) -> Result<Vec<Scheduled>, Error> {
    let mut found = Vec::new();
    for ids in dag_run_ids.chunks(BATCH) {
        let list = vec![ids.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("task_instance/scheduled_of_runs"), list).await?;
        found.extend(tx.readable(&rows, scheduled)?);
    }
    Ok(found)
}

/// The running runs of DAGs that are not paused in which task instances wait to be queued, by the ids of their rows.
pub async fn runs_with_scheduled(tx: &mut Tx) -> Result<Vec<RunWithScheduled>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/runs_with_scheduled"), binds![false]).await?;
    let run = |row: &Row| {
        Ok(RunWithScheduled {
            dag_run_id: row.get("dag_run_id")?,
            dag_id: row.get("dag_id")?,
            instances: row.get("instances")?,
            newest: row.optional("newest")?,
            max_active_tasks: row.get("max_active_tasks")?,
            team_name: row.optional("team_name")?,
        })
    };
    tx.readable(&rows, run)
}

/// The rows of these, in any state and any order. They stay as they are until the transaction ends; those that another
/// transaction holds are left out.
pub async fn lock(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<TaskInstance>, Error> {
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let list = vec![ids.iter().copied().collect()];
        let rows = tx.fetch_all(sql!("task_instance/lock_by_id"), list).await?;
        found.extend(tx.readable(&rows, task_instance)?);
    }
    Ok(found)
}

/// All of a DAG that wait to be queued have failed. Nothing but the state is written, as in Airflow.
pub async fn fail_scheduled_of_dag(tx: &mut Tx, dag_id: &str, now: Timestamp) -> Result<u64, Error> {
    tx.execute(sql!("task_instance/fail_scheduled_of_dag"), binds![now, dag_id]).await
}

fn holding(row: &Row) -> Result<HoldingSlots, Error> {
    Ok(HoldingSlots {
        pool: row.get("pool")?,
        pool_slots: row.get("pool_slots")?,
        instances: row.get("instances")?,
    })
}

fn task_in_run(row: &Row) -> Result<TaskInRun, Error> {
    Ok(TaskInRun {
        dag_id: row.get("dag_id")?,
        run_id: row.get("run_id")?,
        task_id: row.get("task_id")?,
        instances: row.get("instances")?,
    })
}

fn scheduled(row: &Row) -> Result<Scheduled, Error> {
    Ok(Scheduled {
        id: row.get("id")?,
        key: TaskInstanceKey {
            dag_id: row.get("dag_id")?,
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            map_index: row.get("map_index")?,
        },
        priority_weight: row.optional("priority_weight")?,
        pool: row.get("pool")?,
        pool_slots: row.get("pool_slots")?,
        executor: row.optional("executor")?,
        scheduled_dttm: row.optional("scheduled_dttm")?,
        dag_run_id: row.get("dag_run_id")?,
        run_after: row.get("run_after")?,
        run_type: row.get_parsed("run_type")?,
        is_paused: row.get("is_paused")?,
        max_active_tasks: row.get("max_active_tasks")?,
        has_task_concurrency_limits: row.get("has_task_concurrency_limits")?,
        team_name: row.optional("team_name")?,
    })
}
