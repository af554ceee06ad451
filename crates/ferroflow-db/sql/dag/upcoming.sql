SELECT dag_id, next_dagrun_create_after
FROM dag
WHERE next_dagrun_create_after IS NOT NULL
    AND NOT is_paused AND NOT is_stale AND NOT COALESCE(has_import_errors, false)
ORDER BY next_dagrun_create_after, dag_id
LIMIT ?
