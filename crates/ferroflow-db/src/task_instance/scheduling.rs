//! `task_instance`: what a scheduler does with the instances of a run.
//!
//! Each change names the state that it leaves, and tells how many rows were in it.

use std::collections::{HashMap, HashSet};

use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Bind, Row, binds, sql};
use crate::task_instance::TaskInstanceKey;
use crate::{Error, Json, Tx};

/// How many rows a statement changes at most.
const BATCH: usize = 512;

/// A task instance, as far as it matters for what happens next.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceRow {
    /// The identity of this try.
    pub id: Uuid,
    /// The task.
    pub task_id: String,
    /// Which of the mapped copies.
    pub map_index: i32,
    /// Where it stands.
    pub state: Option<TaskState>,
    /// How often it was started.
    pub try_number: i32,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// The seconds until its next try, where the task itself has chosen them.
    pub retry_delay_override: Option<f64>,
    /// The version of the DAG that its task is from.
    pub dag_version_id: Option<Uuid>,
}

/// The trigger that an instance waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerWait {
    /// The trigger.
    pub trigger_id: i64,
    /// Until when.
    pub timeout: Option<Timestamp>,
    /// The method to go on with.
    pub next_method: String,
    /// What that method is given.
    pub next_kwargs: Json,
}

/// All instances of a run.
pub async fn of_run(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Vec<InstanceRow>, Error> {
    let rows = tx.fetch_all(sql!("task_instance/of_run"), binds![dag_id, run_id]).await?;
    rows.iter().map(instance).collect()
}

/// All instances of some runs, by the rows of the runs. Those that have none, or one that cannot be read, are not there.
pub async fn of_runs(tx: &mut Tx, dag_run_ids: &[i64]) -> Result<HashMap<i64, Vec<InstanceRow>>, Error> {
    let mut found: HashMap<i64, Result<Vec<InstanceRow>, Error>> = HashMap::new();
    let list = vec![dag_run_ids.iter().copied().collect()];
    for row in &tx.fetch_all(sql!("task_instance/of_runs"), list).await? {
        let of_run = found.entry(row.get("dag_run_id")?).or_insert_with(|| Ok(Vec::new()));
        match (of_run.as_mut(), instance(row)) {
            (Ok(instances), Ok(instance)) => instances.push(instance),
            (Ok(_), Err(error)) => *of_run = Err(error),
            (Err(_), _) => {}
        }
    }
    Ok(found.into_iter().filter_map(|(id, instances)| Some((id, instances.ok()?))).collect())
}

/// The instances of a run that are of one of these tasks and have one of these map indexes.
pub async fn some_of_run(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    task_ids: &[&str],
    map_indexes: &[i32],
) -> Result<Vec<InstanceRow>, Error> {
    let tasks: Bind = task_ids.iter().copied().collect();
    let indexes: Bind = map_indexes.iter().copied().collect();
    let binds = vec![dag_id.into(), run_id.into(), tasks, indexes];
    let rows = tx.fetch_all(sql!("task_instance/some_of_run"), binds).await?;
    rows.iter().map(instance).collect()
}

/// They are ready to be queued.
pub async fn schedule(
    tx: &mut Tx,
    ids: &[Uuid],
    from: Option<TaskState>,
    is_new_try: bool,
    now: Timestamp,
) -> Result<u64, Error> {
    let set = binds![now, i64::from(is_new_try), now];
    change(tx, sql!("task_instance/schedule"), &set, ids, from).await
}

/// They have succeeded: there was nothing to run.
pub async fn succeed_at_once(
    tx: &mut Tx,
    ids: &[Uuid],
    from: Option<TaskState>,
    now: Timestamp,
) -> Result<u64, Error> {
    let set = binds![now, now, now];
    change(tx, sql!("task_instance/succeed_at_once"), &set, ids, from).await
}

/// They end without having run, with these dates.
pub async fn finish_at_once(
    tx: &mut Tx,
    ids: &[Uuid],
    (from, to): (Option<TaskState>, TaskState),
    (start, end): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<u64, Error> {
    let seconds = end.duration_since(start).as_secs_f64();
    let set = binds![to.as_str(), start, end, seconds, now];
    change(tx, sql!("task_instance/finish_at_once"), &set, ids, from).await
}

/// They go to another state, and nothing else is written but `updated_at`.
pub async fn overwrite(
    tx: &mut Tx,
    ids: &[Uuid],
    (from, to): (Option<TaskState>, TaskState),
    now: Timestamp,
) -> Result<u64, Error> {
    let set = binds![to.as_str(), now];
    change(tx, sql!("task_instance/overwrite_state"), &set, ids, from).await
}

/// The instance without map index becomes the first one with.
pub async fn become_first(
    tx: &mut Tx,
    id: Uuid,
    state: Option<TaskState>,
    now: Timestamp,
) -> Result<u64, Error> {
    let state = state.map(TaskState::as_str);
    tx.execute(sql!("task_instance/become_first"), binds![now, id, state, state]).await
}

/// Deletes an instance.
pub async fn delete(tx: &mut Tx, id: Uuid, state: Option<TaskState>) -> Result<u64, Error> {
    let state = state.map(TaskState::as_str);
    tx.execute(sql!("task_instance/delete"), binds![id, state, state]).await
}

/// It waits for a trigger, without a worker before.
pub async fn defer_at_once(
    tx: &mut Tx,
    id: Uuid,
    from: Option<TaskState>,
    is_new_try: bool,
    wait: &TriggerWait,
    now: Timestamp,
) -> Result<u64, Error> {
    let from = from.map(TaskState::as_str);
    let binds = binds![
        wait.trigger_id,
        wait.timeout,
        wait.next_method.as_str(),
        wait.next_kwargs.clone(),
        now,
        i64::from(is_new_try),
        now,
        id,
        from,
        from,
    ];
    tx.execute(sql!("task_instance/defer_at_once"), binds).await
}

/// Deletes what is stored for an instance: results, rendered fields, lengths, notes and reschedules.
pub async fn forget(tx: &mut Tx, key: &TaskInstanceKey, id: Uuid) -> Result<(), Error> {
    let by_key = [
        sql!("xcom/delete_of_instance"),
        sql!("rendered_task_instance_fields/delete_of_instance"),
        sql!("task_map/delete_of_instance"),
    ];
    for statement in by_key {
        let binds = binds![key.dag_id.as_str(), key.run_id.as_str(), key.task_id.as_str(), key.map_index];
        tx.execute(statement, binds).await?;
    }
    tx.execute(sql!("task_instance_note/delete_of_instance"), binds![id]).await?;
    tx.execute(sql!("task_reschedule/delete_of_instance"), binds![id]).await?;
    Ok(())
}

/// How these stand. They stay so until the transaction ends; those that another transaction holds, or that cannot be read,
/// are left out.
pub async fn lock_states(tx: &mut Tx, ids: &[Uuid]) -> Result<HashMap<Uuid, Option<TaskState>>, Error> {
    let mut found = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let rows =
            tx.fetch_all(sql!("task_instance/lock_states"), vec![ids.iter().copied().collect()]).await?;
        found.extend(tx.readable(&rows, |row| Ok((row.get("id")?, row.parsed("state")?)))?);
    }
    Ok(found)
}

/// Which of these are scheduled. They stay so until the transaction ends.
pub async fn lock_scheduled(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let rows =
        tx.fetch_all(sql!("task_instance/lock_scheduled"), vec![ids.iter().copied().collect()]).await?;
    rows.iter().map(|row| row.get("id")).collect()
}

/// Scheduled instances are handed to an executor.
pub async fn queue(tx: &mut Tx, ids: &[Uuid], job_id: Option<i64>, now: Timestamp) -> Result<u64, Error> {
    let mut changed = 0;
    for ids in ids.chunks(BATCH) {
        let mut binds = binds![now, job_id, now];
        binds.push(ids.iter().copied().collect());
        changed += tx.execute(sql!("task_instance/queue"), binds).await?;
    }
    Ok(changed)
}

/// The same for one whose executor knows it by a name of its own.
pub async fn queue_named(
    tx: &mut Tx,
    id: Uuid,
    job_id: Option<i64>,
    external_executor_id: &str,
    now: Timestamp,
) -> Result<u64, Error> {
    let binds = binds![now, job_id, external_executor_id, now, id];
    tx.execute(sql!("task_instance/queue_named"), binds).await
}

/// Of the instances of a run in a state, the one that ended last.
pub async fn last_ended(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    state: TaskState,
) -> Result<Option<Uuid>, Error> {
    let row =
        tx.fetch_optional(sql!("task_instance/last_ended"), binds![dag_id, run_id, state.as_str()]).await?;
    row.map(|row| row.get("id")).transpose()
}

/// Of some instances of a run, the one that started last.
pub async fn last_started(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    ids: &[Uuid],
) -> Result<Option<Uuid>, Error> {
    let ids: HashSet<Uuid> = ids.iter().copied().collect();
    for row in &tx.fetch_all(sql!("task_instance/last_started"), binds![dag_id, run_id]).await? {
        let id = row.get("id")?;
        if ids.contains(&id) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The statements compare with no state as with an empty one: asked for `state IS NULL`, PostgreSQL may look through all
/// instances without a state instead of these.
async fn change(
    tx: &mut Tx,
    statement: &'static crate::statement::Statement,
    set: &[Bind],
    ids: &[Uuid],
    from: Option<TaskState>,
) -> Result<u64, Error> {
    let from = from.map_or("", TaskState::as_str);
    let mut changed = 0;
    for ids in ids.chunks(BATCH) {
        let mut binds = set.to_vec();
        binds.push(ids.iter().copied().collect());
        binds.push(from.into());
        changed += tx.execute(statement, binds).await?;
    }
    Ok(changed)
}

pub(crate) fn instance(row: &Row) -> Result<InstanceRow, Error> {
    Ok(InstanceRow {
        id: row.get("id")?,
        task_id: row.get("task_id")?,
        map_index: row.get("map_index")?,
        state: row.parsed("state")?,
        try_number: row.get("try_number")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
        retry_delay_override: row.optional("retry_delay_override")?,
        dag_version_id: row.optional("dag_version_id")?,
    })
}
