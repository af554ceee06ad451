//! Rows with nothing special about them, for a test to change what it is about.

use ferroflow_db::dag::{self, Dag};
use ferroflow_db::dag_run::{self, NewDagRun};
use ferroflow_db::{Json, Tx, dag_bundle};
use ferroflow_model::state::{RunState, RunType, TriggeredBy};
use jiff::Timestamp;
use serde_json::json;

/// A DAG without schedule, in the bundle `dags-folder`.
pub fn a_dag(dag_id: &str) -> Dag {
    Dag {
        dag_id: dag_id.to_owned(),
        is_paused: false,
        is_stale: false,
        exceeds_max_non_backfill: false,
        last_parsed_time: None,
        last_parse_duration: None,
        last_expired: None,
        fileloc: Some(format!("/dags/{dag_id}.py")),
        relative_fileloc: Some(format!("{dag_id}.py")),
        bundle_name: "dags-folder".to_owned(),
        bundle_version: None,
        owners: Some("airflow".to_owned()),
        dag_display_name: None,
        description: None,
        timetable_type: "airflow.timetables.simple.NullTimetable".to_owned(),
        timetable_summary: Some("None".to_owned()),
        timetable_description: None,
        timetable_partitioned: false,
        timetable_periodic: false,
        partition_mapper_info: Json::from(json!([])),
        asset_expression: None,
        deadline: None,
        max_active_tasks: 16,
        max_active_runs: Some(16),
        max_consecutive_failed_dag_runs: 0,
        has_task_concurrency_limits: false,
        has_import_errors: Some(false),
        fail_fast: false,
        allowed_run_types: None,
        next_dagrun: None,
        next_dagrun_data_interval_start: None,
        next_dagrun_data_interval_end: None,
        next_dagrun_partition_key: None,
        next_dagrun_partition_date: None,
        next_dagrun_create_after: None,
    }
}

/// A run that somebody asked for. Its logical date is its place in time.
pub fn a_run(dag_id: &str, run_id: &str, logical_date: Timestamp) -> NewDagRun {
    NewDagRun {
        dag_id: dag_id.to_owned(),
        run_id: run_id.to_owned(),
        state: RunState::Queued,
        start_date: None,
        run_type: RunType::Manual,
        triggered_by: Some(TriggeredBy::RestApi),
        triggering_user_name: None,
        creating_job_id: None,
        backfill_id: None,
        logical_date: Some(logical_date),
        data_interval_start: Some(logical_date),
        data_interval_end: Some(logical_date),
        run_after: logical_date,
        partition_key: None,
        partition_date: None,
        conf: Json::from(json!({})),
        bundle_version: None,
        created_dag_version_id: None,
        context_carrier: json!({}),
    }
}

/// Adds a DAG and its bundle.
pub async fn add_dag(tx: &mut Tx, dag_id: &str) -> Result<(), ferroflow_db::Error> {
    dag_bundle::insert_if_missing(tx, "dags-folder").await?;
    dag::insert(tx, &a_dag(dag_id)).await
}

/// Adds a run to a DAG that is there.
pub async fn add_run(
    tx: &mut Tx,
    dag_id: &str,
    run_id: &str,
    date: Timestamp,
) -> Result<i64, ferroflow_db::Error> {
    dag_run::insert(tx, &a_run(dag_id, run_id, date), date).await
}
