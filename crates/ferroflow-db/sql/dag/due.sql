-- Those after one that was looked at, by the index of their times.
-- The flag is what official schedulers go by, and they do not always keep it true: where it is set, the runs are counted.
SELECT
    dag_id, is_paused, is_stale, has_import_errors, exceeds_max_non_backfill, max_active_runs, timetable_partitioned,
    timetable_periodic, allowed_run_types, bundle_name, bundle_version, next_dagrun, next_dagrun_data_interval_start,
    next_dagrun_data_interval_end, next_dagrun_partition_key, next_dagrun_partition_date, next_dagrun_create_after
FROM dag
WHERE next_dagrun_create_after <= ?
    AND NOT is_paused AND NOT is_stale AND NOT COALESCE(has_import_errors, false)
    AND (
        NOT exceeds_max_non_backfill
        OR max_active_runs > (
            SELECT COUNT(*)
            FROM dag_run AS active
            WHERE active.dag_id = dag.dag_id AND active.state IN ('queued', 'running')
                AND active.run_type <> 'backfill'
        )
    )
    AND (? OR next_dagrun_create_after > ? OR (next_dagrun_create_after = ? AND dag_id > ?))
ORDER BY next_dagrun_create_after, dag_id
LIMIT ?
