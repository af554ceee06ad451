SELECT dag_id, COUNT(*) AS runs
FROM dag_run
WHERE dag_id IN ({in}) AND state IN ('running', 'queued') AND run_type <> 'backfill'
GROUP BY dag_id
