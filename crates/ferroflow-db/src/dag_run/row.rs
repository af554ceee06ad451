//! `dag_run`: the runs of DAGs.

use std::collections::HashMap;

use ferroflow_model::extended_json;
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use ferroflow_model::stored_dag::LatestRun;
use ferroflow_model::timetable::DataInterval;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

/// A run to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDagRun {
    /// The DAG.
    pub dag_id: String,
    /// The name of the run, which no other run of its DAG has.
    pub run_id: String,
    /// Where it begins: queued or running.
    pub state: RunState,
    /// When it started, if that is not when it is made; only where it begins running.
    pub start_date: Option<Timestamp>,
    /// Why it exists.
    pub run_type: RunType,
    /// Which door the request came through.
    pub triggered_by: Option<TriggeredBy>,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
    /// The scheduler that makes it.
    pub creating_job_id: Option<i64>,
    /// The backfill that it belongs to.
    pub backfill_id: Option<i64>,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// The start of its data interval.
    pub data_interval_start: Option<Timestamp>,
    /// The end of its data interval.
    pub data_interval_end: Option<Timestamp>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// The date that its partition stands for.
    pub partition_date: Option<Timestamp>,
    /// What it was given; an empty dict if nothing.
    pub conf: Json,
    /// The version of the bundle, if the run is tied to one.
    pub bundle_version: Option<String>,
    /// The version of the DAG when the run is made.
    pub created_dag_version_id: Option<Uuid>,
    /// Where the run stands in a trace: a dict.
    pub context_carrier: Value,
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct DagRun {
    /// Counted up by the database.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// The name of the run, which no other run of its DAG has.
    pub run_id: String,
    /// Where it stands.
    pub state: RunState,
    /// Why it exists.
    pub run_type: RunType,
    /// Which door the request came through.
    pub triggered_by: Option<TriggeredBy>,
    /// Who asked for it.
    pub triggering_user_name: Option<String>,
    /// The scheduler that made it.
    pub creating_job_id: Option<i64>,
    /// The scheduler that last worked on it.
    pub scheduled_by_job_id: Option<i64>,
    /// The backfill that it belongs to.
    pub backfill_id: Option<i64>,
    /// The date that it stands for.
    pub logical_date: Option<Timestamp>,
    /// The start of its data interval.
    pub data_interval_start: Option<Timestamp>,
    /// The end of its data interval.
    pub data_interval_end: Option<Timestamp>,
    /// From when on it may run.
    pub run_after: Timestamp,
    /// The partition it is for.
    pub partition_key: Option<String>,
    /// The date that its partition stands for.
    pub partition_date: Option<Timestamp>,
    /// When it was last queued.
    pub queued_at: Option<Timestamp>,
    /// When it started.
    pub start_date: Option<Timestamp>,
    /// When it ended.
    pub end_date: Option<Timestamp>,
    /// When a scheduler last looked at it.
    pub last_scheduling_decision: Option<Timestamp>,
    /// What it was given.
    pub conf: Option<Json>,
    /// Where its logs are.
    pub log_template_id: Option<i64>,
    /// How often it was cleared.
    pub clear_number: i32,
    /// The version of the bundle, if the run is tied to one.
    pub bundle_version: Option<String>,
    /// The version of the DAG when the run was made.
    pub created_dag_version_id: Option<Uuid>,
    /// Where the run stands in a trace.
    pub context_carrier: Option<Value>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When its row was last written.
    pub updated_at: Option<Timestamp>,
}

/// A running run that is locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRun {
    /// Its row.
    pub id: i64,
    /// The DAG.
    pub dag_id: String,
    /// The name of the run.
    pub run_id: String,
}

/// Adds a run under the newest log template, and returns the id of its row.
pub async fn insert(tx: &mut Tx, run: &NewDagRun, now: Timestamp) -> Result<i64, Error> {
    let is_running = run.state == RunState::Running;
    let binds = binds![
        run.dag_id.as_str(),
        run.run_id.as_str(),
        run.state.as_str(),
        run.run_type.as_str(),
        run.triggered_by.map(TriggeredBy::as_str),
        run.triggering_user_name.as_deref(),
        run.creating_job_id,
        run.backfill_id,
        run.logical_date,
        run.data_interval_start,
        run.data_interval_end,
        run.run_after,
        run.partition_key.as_deref(),
        run.partition_date,
        (!is_running).then_some(now),
        is_running.then(|| run.start_date.unwrap_or(now)),
        run.conf.clone(),
        run.bundle_version.as_deref(),
        run.created_dag_version_id,
        Json::from(extended_json::encode(&run.context_carrier)),
        now,
        now,
    ];
    tx.insert(sql!("dag_run/insert"), binds).await
}

/// One run.
pub async fn find(tx: &mut Tx, dag_id: &str, run_id: &str) -> Result<Option<DagRun>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/find"), binds![dag_id, run_id]).await?;
    row.as_ref().map(dag_run).transpose()
}

/// The name of a run of a DAG that has this name or this logical date.
pub async fn find_either(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    logical_date: Option<Timestamp>,
) -> Result<Option<String>, Error> {
    let row = tx.fetch_optional(sql!("dag_run/find_either"), binds![dag_id, run_id, logical_date]).await?;
    row.map(|row| row.get("run_id")).transpose()
}

/// The run of a DAG whose logical date is the latest before a time, of those in one state or in any.
pub async fn previous(
    tx: &mut Tx,
    dag_id: &str,
    before: Timestamp,
    state: Option<RunState>,
) -> Result<Option<DagRun>, Error> {
    let binds = binds![dag_id, before, state.is_none(), state.map(RunState::as_str)];
    let row = tx.fetch_optional(sql!("dag_run/previous"), binds).await?;
    row.as_ref().map(dag_run).transpose()
}

/// Running runs, of any DAG, that no other transaction has locked, those first that were not looked at for the longest
/// time. They stay locked until the transaction ends.
pub async fn claim_running(tx: &mut Tx, limit: i64) -> Result<Vec<ClaimedRun>, Error> {
    if tx.dialect().is_mysql_family() {
        return claim_running_by_id(tx, limit).await;
    }
    let rows = tx.fetch_all(sql!("dag_run/claim_running"), binds![limit]).await?;
    rows.iter().map(claimed_run).collect()
}

/// Moves a run from one state to another, with the dates that go with it. False, and nothing changed, if it
/// has left the first state.
///
/// A run that is queued loses its start and end. One that starts keeps an earlier start, unless it had
/// finished. One that finishes has its end noted, unless it had finished before.
pub async fn set_state(
    tx: &mut Tx,
    id: i64,
    from: RunState,
    to: RunState,
    now: Timestamp,
) -> Result<bool, Error> {
    let statement = match to {
        RunState::Queued => sql!("dag_run/set_queued"),
        RunState::Running => sql!("dag_run/set_running"),
        RunState::Success | RunState::Failed => sql!("dag_run/set_finished"),
    };
    Ok(tx.execute(statement, binds![now, to.as_str(), now, id, from.as_str()]).await? == 1)
}

/// Notes that running runs were looked at, and by which job. False if any of them is not running any more.
pub async fn set_examined(
    tx: &mut Tx,
    ids: &[i64],
    job_id: Option<i64>,
    now: Timestamp,
) -> Result<bool, Error> {
    let mut binds = binds![now, job_id, now];
    binds.push(ids.iter().copied().collect());
    let examined = tx.execute(sql!("dag_run/set_examined"), binds).await?;
    Ok(u64::try_from(ids.len()) == Ok(examined))
}

/// Deletes a run, and with it all that belongs to it.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<bool, Error> {
    Ok(tx.execute(sql!("dag_run/delete"), binds![id]).await? == 1)
}

/// The run that the next one of a DAG's schedule follows: of those that the schedule or a backfill made, the one
/// with the greatest logical date or, where runs stand for partitions, with the latest partition.
pub async fn latest_automated(
    tx: &mut Tx,
    dag_id: &str,
    is_partitioned: bool,
) -> Result<Option<LatestRun>, Error> {
    let statement =
        if is_partitioned { sql!("dag_run/latest_partitioned") } else { sql!("dag_run/latest_scheduled") };
    let row = tx.fetch_optional(statement, binds![dag_id]).await?;
    row.as_ref().map(latest_run).transpose()
}

/// How many runs of each of some DAGs are queued or running, those of backfills not counted.
pub async fn count_active(tx: &mut Tx, dag_ids: &[String]) -> Result<HashMap<String, u32>, Error> {
    let ids = vec![dag_ids.iter().map(String::as_str).collect()];
    let rows = tx.fetch_all(sql!("dag_run/count_active"), ids).await?;
    let counted = rows.iter().map(|row| {
        let runs: i64 = row.get("runs")?;
        Ok((row.get("dag_id")?, u32::try_from(runs).unwrap_or(u32::MAX)))
    });
    counted.collect()
}

/// A locking read that sorts locks every row it sorts on MySQL, not only those it returns, and would leave
/// nothing to the other schedulers. So it looks first, at more than it wants, and locks then by primary key:
/// the first of them, and for each that others hold, one further down.
async fn claim_running_by_id(tx: &mut Tx, limit: i64) -> Result<Vec<ClaimedRun>, Error> {
    const LOOK_AT: i64 = 4;
    let seen = tx.fetch_all(sql!("dag_run/oldest_running"), binds![limit * LOOK_AT]).await?;
    let ids = seen.iter().map(|row| row.get::<i64>("id")).collect::<Result<Vec<_>, _>>()?;
    let wanted = usize::try_from(limit).unwrap_or(0);
    let mut claimed: Vec<ClaimedRun> = Vec::new();
    let mut left = ids.as_slice();
    while claimed.len() < wanted && !left.is_empty() {
        let (next, later) = left.split_at(left.len().min(wanted - claimed.len()));
        let rows =
            tx.fetch_all(sql!("dag_run/lock_running_by_id"), vec![next.iter().copied().collect()]).await?;
        for row in &rows {
            claimed.push(claimed_run(row)?);
        }
        left = later;
    }
    claimed.sort_by_key(|run| ids.iter().position(|id| *id == run.id));
    Ok(claimed)
}

fn claimed_run(row: &Row) -> Result<ClaimedRun, Error> {
    Ok(ClaimedRun { id: row.get("id")?, dag_id: row.get("dag_id")?, run_id: row.get("run_id")? })
}

fn latest_run(row: &Row) -> Result<LatestRun, Error> {
    let start = row.optional("data_interval_start")?;
    let end = row.optional("data_interval_end")?;
    Ok(LatestRun {
        run_after: row.get("run_after")?,
        data_interval: start.zip(end).map(|(start, end)| DataInterval { start, end }),
        partition_date: row.optional("partition_date")?,
        partition_key: row.optional("partition_key")?,
    })
}

pub(crate) fn dag_run(row: &Row) -> Result<DagRun, Error> {
    Ok(DagRun {
        id: row.get("id")?,
        dag_id: row.get("dag_id")?,
        run_id: row.get("run_id")?,
        state: row.get_parsed("state")?,
        run_type: row.get_parsed("run_type")?,
        triggered_by: row.parsed("triggered_by")?,
        triggering_user_name: row.optional("triggering_user_name")?,
        creating_job_id: row.optional("creating_job_id")?,
        scheduled_by_job_id: row.optional("scheduled_by_job_id")?,
        backfill_id: row.optional("backfill_id")?,
        logical_date: row.optional("logical_date")?,
        data_interval_start: row.optional("data_interval_start")?,
        data_interval_end: row.optional("data_interval_end")?,
        run_after: row.get("run_after")?,
        partition_key: row.optional("partition_key")?,
        partition_date: row.optional("partition_date")?,
        queued_at: row.optional("queued_at")?,
        start_date: row.optional("start_date")?,
        end_date: row.optional("end_date")?,
        last_scheduling_decision: row.optional("last_scheduling_decision")?,
        conf: row.json("conf")?,
        log_template_id: row.optional("log_template_id")?,
        clear_number: row.get("clear_number")?,
        bundle_version: row.optional("bundle_version")?,
        created_dag_version_id: row.optional("created_dag_version_id")?,
        context_carrier: row.extended_json("context_carrier")?,
        created_at: row.optional("created_at")?,
        updated_at: row.optional("updated_at")?,
    })
}
