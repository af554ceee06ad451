-- A DAG without deadlines keeps those that its row had, as Airflow leaves them.
UPDATE dag
SET is_stale = ?, has_import_errors = ?, last_parsed_time = ?, last_parse_duration = ?,
    fileloc = ?, relative_fileloc = ?, bundle_name = ?, bundle_version = ?, owners = ?, dag_display_name = ?,
    description = ?, timetable_type = ?, timetable_summary = ?, timetable_description = ?,
    timetable_partitioned = ?, timetable_periodic = ?, partition_mapper_info = ?,
    deadline = COALESCE(?, deadline), max_active_tasks = ?, max_active_runs = ?,
    max_consecutive_failed_dag_runs = ?, has_task_concurrency_limits = ?, fail_fast = ?, allowed_run_types = ?,
    exceeds_max_non_backfill = ?, next_dagrun = ?, next_dagrun_data_interval_start = ?,
    next_dagrun_data_interval_end = ?, next_dagrun_partition_key = ?, next_dagrun_partition_date = ?,
    next_dagrun_create_after = ?
WHERE dag_id = ?
