INSERT INTO dag_run (
    dag_id, run_id, state, run_type, triggered_by, triggering_user_name, creating_job_id, backfill_id,
    logical_date, data_interval_start, data_interval_end, run_after, partition_key, partition_date,
    queued_at, start_date, conf, bundle_version, created_dag_version_id, context_carrier, created_at, updated_at,
    clear_number, log_template_id
) VALUES
    {rows:24}
