SELECT
    id, dag_id, run_id, state, run_type, triggered_by, triggering_user_name, creating_job_id, scheduled_by_job_id,
    backfill_id, logical_date, data_interval_start, data_interval_end, run_after, partition_key, partition_date,
    queued_at, start_date, end_date, last_scheduling_decision, conf, log_template_id, clear_number,
    bundle_version, created_dag_version_id, context_carrier, created_at, updated_at
FROM dag_run
WHERE dag_id = ?
    AND (? OR state = ?)
    AND (? OR run_type <> 'backfill')
    AND (? OR logical_date >= ?)
    AND (? OR logical_date <= ?)
ORDER BY run_after DESC, logical_date, id
