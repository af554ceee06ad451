SELECT dag_id, run_type, COUNT(*) AS runs
FROM dag_run
WHERE dag_id IN ({in}) AND state IN ('queued', 'running')
GROUP BY dag_id, run_type
