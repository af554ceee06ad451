-- Those after one that was looked at, by the index of their times.
-- The flag is what official schedulers go by, and they do not always keep it true: where it is set, the runs are counted.
SELECT {columns:dag_scheduling}
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
