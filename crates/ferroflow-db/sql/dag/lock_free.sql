-- In the order of their ids, as everybody locks them who locks several.
SELECT
    dag_id, is_paused, is_stale, has_import_errors, exceeds_max_non_backfill, max_active_runs, timetable_partitioned,
    timetable_periodic, allowed_run_types, bundle_name, bundle_version, next_dagrun, next_dagrun_data_interval_start,
    next_dagrun_data_interval_end, next_dagrun_partition_key, next_dagrun_partition_date, next_dagrun_create_after
FROM dag
WHERE dag_id IN ({few})
ORDER BY dag_id
{lock_skip:dag}
