//! What a parse writes about a DAG.

use ferroflow_model::timetable::RunInfo;
use jiff::Timestamp;

use crate::statement::{binds, sql};
use crate::{Error, Json, Tx};

/// The columns of the `dag` table that a parse knows.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the columns of Airflow's table")]
pub struct ParsedColumns {
    /// Its name.
    pub dag_id: String,
    /// How many seconds the parse took.
    pub last_parse_duration: f64,
    /// Its file, on the host that parsed it.
    pub fileloc: Option<String>,
    /// Its file, within its bundle.
    pub relative_fileloc: Option<String>,
    /// The bundle its file is in.
    pub bundle_name: String,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// The owners of its tasks, separated by commas.
    pub owners: String,
    /// What people see in place of its name.
    pub dag_display_name: Option<String>,
    /// What its author says about it.
    pub description: Option<String>,
    /// The class of its timetable.
    pub timetable_type: String,
    /// Its schedule in a few words.
    pub timetable_summary: Option<String>,
    /// Its schedule in a sentence.
    pub timetable_description: Option<String>,
    /// Whether its runs have partitions.
    pub timetable_partitioned: bool,
    /// Whether its timetable makes runs by itself.
    pub timetable_periodic: bool,
    /// How the partitions of its assets become its own: a list.
    pub partition_mapper_info: Json,
    /// Its deadlines; `None` leaves the column as it is.
    pub deadline: Option<Json>,
    /// How many of its task instances may be active in a run.
    pub max_active_tasks: i32,
    /// How many of its runs may be active.
    pub max_active_runs: i32,
    /// After how many failed runs in a row it is paused; 0 for never.
    pub max_consecutive_failed_dag_runs: i32,
    /// Whether any of its tasks limits how many of its own instances may be active.
    pub has_task_concurrency_limits: bool,
    /// Whether one failed task ends the run.
    pub fail_fast: bool,
    /// The types of run that it takes, a list; all types if there is none.
    pub allowed_run_types: Option<Json>,
    /// Whether its active runs, not counting backfills, have reached `max_active_runs`.
    pub exceeds_max_non_backfill: bool,
    /// The next run of its schedule; `None` clears all six columns.
    pub next_run: Option<RunInfo>,
}

/// Locks the rows of these DAGs, as far as there are any, and tells which they are.
pub async fn lock(tx: &mut Tx, dag_ids: &[String]) -> Result<Vec<String>, Error> {
    let rows = tx.fetch_all(sql!("dag/lock"), vec![dag_ids.iter().map(String::as_str).collect()]).await?;
    rows.iter().map(|row| row.get("dag_id")).collect()
}

/// Makes the row of a DAG, unless another process has made it in between. What is known of the DAG follows by
/// [`update_parsed`].
pub async fn insert_if_missing(
    tx: &mut Tx,
    dag_id: &str,
    bundle_name: &str,
    is_paused: bool,
) -> Result<(), Error> {
    let no_mappers = Json::from(serde_json::json!([]));
    let binds = binds![dag_id, is_paused, false, bundle_name, "", no_mappers, 0, 0, false];
    tx.execute(sql!("dag/insert_if_missing"), binds).await?;
    Ok(())
}

/// Writes what a parse knows of a DAG, which is neither stale nor in error then. Whether it is paused stays as it is,
/// and so does the expression of its assets. Of the JSON columns that hold nothing `allowed_run_types` is JSON
/// `null`, as Airflow writes it.
pub async fn update_parsed(tx: &mut Tx, dag: &ParsedColumns, now: Timestamp) -> Result<(), Error> {
    let next = dag.next_run.as_ref();
    let interval = next.and_then(|run| run.data_interval);
    let binds = binds![
        false,
        false,
        now,
        dag.last_parse_duration,
        dag.fileloc.as_deref(),
        dag.relative_fileloc.as_deref(),
        dag.bundle_name.as_str(),
        dag.bundle_version.as_deref(),
        dag.owners.as_str(),
        dag.dag_display_name.as_deref(),
        dag.description.as_deref(),
        dag.timetable_type.as_str(),
        dag.timetable_summary.as_deref(),
        dag.timetable_description.as_deref(),
        dag.timetable_partitioned,
        dag.timetable_periodic,
        dag.partition_mapper_info.clone(),
        dag.deadline.clone(),
        dag.max_active_tasks,
        dag.max_active_runs,
        dag.max_consecutive_failed_dag_runs,
        dag.has_task_concurrency_limits,
        dag.fail_fast,
        dag.allowed_run_types.clone().unwrap_or_else(Json::null),
        dag.exceeds_max_non_backfill,
        next.and_then(RunInfo::logical_date),
        interval.map(|interval| interval.start),
        interval.map(|interval| interval.end),
        next.and_then(|run| run.partition_key.as_deref()),
        next.and_then(|run| run.partition_date),
        next.map(|run| run.run_after),
        dag.dag_id.as_str(),
    ];
    tx.execute(sql!("dag/update_parsed"), binds).await?;
    Ok(())
}

/// Marks the DAGs of a file as stale and in error: those of `dag_ids` and all others of the file, except those that
/// were `delivered`. Says how many it were.
pub async fn flag_import_errors(
    tx: &mut Tx,
    bundle_name: &str,
    relative_fileloc: &str,
    dag_ids: &[String],
    delivered: &[String],
) -> Result<u64, Error> {
    let binds = vec![
        true.into(),
        true.into(),
        bundle_name.into(),
        relative_fileloc.into(),
        dag_ids.iter().map(String::as_str).collect(),
        // An empty list would be NULL, and no id is in none of NULL. No DAG has an empty id.
        delivered.iter().map(String::as_str).chain([""]).collect(),
        true.into(),
        true.into(),
    ];
    tx.execute(sql!("dag/flag_import_errors"), binds).await
}
