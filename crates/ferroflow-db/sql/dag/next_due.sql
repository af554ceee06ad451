SELECT dag_id, next_dagrun_create_after
FROM dag
WHERE next_dagrun_create_after > ?
    AND NOT is_paused AND NOT is_stale AND NOT COALESCE(has_import_errors, false)
    AND NOT exceeds_max_non_backfill
ORDER BY next_dagrun_create_after
LIMIT 1
