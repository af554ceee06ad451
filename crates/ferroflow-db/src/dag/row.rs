//! `dag`: what is known of each DAG short of its serialized form, and when it runs next.

use jiff::Timestamp;

use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

/// One DAG.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "these are the columns of Airflow's table")]
pub struct Dag {
    /// Its name.
    pub dag_id: String,
    /// Whether no runs are scheduled.
    pub is_paused: bool,
    /// Whether it was not found at its file any more.
    pub is_stale: bool,
    /// Whether its active runs, not counting backfills, have reached `max_active_runs`.
    pub exceeds_max_non_backfill: bool,
    /// When its file was last parsed.
    pub last_parsed_time: Option<Timestamp>,
    /// How many seconds that took.
    pub last_parse_duration: Option<f64>,
    /// When it was last asked to be parsed anew.
    pub last_expired: Option<Timestamp>,
    /// Its file, on the host that parsed it.
    pub fileloc: Option<String>,
    /// Its file, within its bundle.
    pub relative_fileloc: Option<String>,
    /// The bundle its file is in.
    pub bundle_name: String,
    /// The version of that bundle, if it has versions.
    pub bundle_version: Option<String>,
    /// The owners of its tasks, separated by commas.
    pub owners: Option<String>,
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
    /// Which assets it waits for.
    pub asset_expression: Option<Json>,
    /// The ids of its deadlines.
    pub deadline: Option<Json>,
    /// How many of its task instances may be active in a run.
    pub max_active_tasks: i32,
    /// How many of its runs may be active.
    pub max_active_runs: Option<i32>,
    /// After how many failed runs in a row it is paused; 0 for never.
    pub max_consecutive_failed_dag_runs: i32,
    /// Whether any of its tasks limits how many of its own instances may be active.
    pub has_task_concurrency_limits: bool,
    /// Whether its file failed to parse the last time.
    pub has_import_errors: Option<bool>,
    /// Whether one failed task ends the run.
    pub fail_fast: bool,
    /// The types of run that it takes, a list; all types if there is none.
    pub allowed_run_types: Option<Json>,
    /// The logical date of its next run.
    pub next_dagrun: Option<Timestamp>,
    /// The start of the next run's data interval.
    pub next_dagrun_data_interval_start: Option<Timestamp>,
    /// The end of the next run's data interval.
    pub next_dagrun_data_interval_end: Option<Timestamp>,
    /// The partition of its next run.
    pub next_dagrun_partition_key: Option<String>,
    /// The date that the next run's partition stands for.
    pub next_dagrun_partition_date: Option<Timestamp>,
    /// From when on its next run may be made.
    pub next_dagrun_create_after: Option<Timestamp>,
}

/// Adds a DAG.
///
/// Of the JSON columns that hold nothing, `allowed_run_types` is JSON `null` and the others are SQL NULL, as
/// Airflow's DAG processor leaves them.
pub async fn insert(tx: &mut Tx, dag: &Dag) -> Result<(), Error> {
    let binds = binds![
        dag.dag_id.as_str(),
        dag.is_paused,
        dag.is_stale,
        dag.exceeds_max_non_backfill,
        dag.last_parsed_time,
        dag.last_parse_duration,
        dag.last_expired,
        dag.fileloc.as_deref(),
        dag.relative_fileloc.as_deref(),
        dag.bundle_name.as_str(),
        dag.bundle_version.as_deref(),
        dag.owners.as_deref(),
        dag.dag_display_name.as_deref(),
        dag.description.as_deref(),
        dag.timetable_type.as_str(),
        dag.timetable_summary.as_deref(),
        dag.timetable_description.as_deref(),
        dag.timetable_partitioned,
        dag.timetable_periodic,
        dag.partition_mapper_info.clone(),
        dag.asset_expression.clone(),
        dag.deadline.clone(),
        dag.max_active_tasks,
        dag.max_active_runs,
        dag.max_consecutive_failed_dag_runs,
        dag.has_task_concurrency_limits,
        dag.has_import_errors,
        dag.fail_fast,
        dag.allowed_run_types.clone().unwrap_or_else(Json::null),
        dag.next_dagrun,
        dag.next_dagrun_data_interval_start,
        dag.next_dagrun_data_interval_end,
        dag.next_dagrun_partition_key.as_deref(),
        dag.next_dagrun_partition_date,
        dag.next_dagrun_create_after,
    ];
    tx.execute(sql!("dag/insert"), binds).await?;
    Ok(())
}

/// One DAG.
pub async fn find(tx: &mut Tx, dag_id: &str) -> Result<Option<Dag>, Error> {
    let row = tx.fetch_optional(sql!("dag/find"), binds![dag_id]).await?;
    row.as_ref().map(dag).transpose()
}

pub(crate) fn dag(row: &Row) -> Result<Dag, Error> {
    Ok(Dag {
        dag_id: row.get("dag_id")?,
        is_paused: row.get("is_paused")?,
        is_stale: row.get("is_stale")?,
        exceeds_max_non_backfill: row.get("exceeds_max_non_backfill")?,
        last_parsed_time: row.optional("last_parsed_time")?,
        last_parse_duration: row.optional("last_parse_duration")?,
        last_expired: row.optional("last_expired")?,
        fileloc: row.optional("fileloc")?,
        relative_fileloc: row.optional("relative_fileloc")?,
        bundle_name: row.get("bundle_name")?,
        bundle_version: row.optional("bundle_version")?,
        owners: row.optional("owners")?,
        dag_display_name: row.optional("dag_display_name")?,
        description: row.optional("description")?,
        timetable_type: row.get("timetable_type")?,
        timetable_summary: row.optional("timetable_summary")?,
        timetable_description: row.optional("timetable_description")?,
        timetable_partitioned: row.get("timetable_partitioned")?,
        timetable_periodic: row.get("timetable_periodic")?,
        partition_mapper_info: row.get("partition_mapper_info")?,
        asset_expression: row.json("asset_expression")?,
        deadline: row.json("deadline")?,
        max_active_tasks: row.get("max_active_tasks")?,
        max_active_runs: row.optional("max_active_runs")?,
        max_consecutive_failed_dag_runs: row.get("max_consecutive_failed_dag_runs")?,
        has_task_concurrency_limits: row.get("has_task_concurrency_limits")?,
        has_import_errors: row.optional("has_import_errors")?,
        fail_fast: row.get("fail_fast")?,
        allowed_run_types: row.json("allowed_run_types")?,
        next_dagrun: row.optional("next_dagrun")?,
        next_dagrun_data_interval_start: row.optional("next_dagrun_data_interval_start")?,
        next_dagrun_data_interval_end: row.optional("next_dagrun_data_interval_end")?,
        next_dagrun_partition_key: row.optional("next_dagrun_partition_key")?,
        next_dagrun_partition_date: row.optional("next_dagrun_partition_date")?,
        next_dagrun_create_after: row.optional("next_dagrun_create_after")?,
    })
}
