SELECT dag_id
FROM dag
WHERE is_paused AND NOT is_stale
ORDER BY dag_id
