SELECT
    dag_id, is_paused, is_stale, exceeds_max_non_backfill, last_parsed_time, last_parse_duration, last_expired,
    fileloc, relative_fileloc, bundle_name, bundle_version, owners, dag_display_name, description,
    timetable_type, timetable_summary, timetable_description, timetable_partitioned, timetable_periodic,
    partition_mapper_info, asset_expression, deadline, max_active_tasks, max_active_runs,
    max_consecutive_failed_dag_runs, has_task_concurrency_limits, has_import_errors, fail_fast,
    allowed_run_types, next_dagrun, next_dagrun_data_interval_start, next_dagrun_data_interval_end,
    next_dagrun_partition_key, next_dagrun_partition_date, next_dagrun_create_after
FROM dag
WHERE dag_id IN ({in})
