SELECT dag_id, backfill_id, COUNT(*) AS runs, MAX(start_date) AS last_started
FROM dag_run
WHERE dag_id IN ({in}) AND state = 'running'
GROUP BY dag_id, backfill_id
