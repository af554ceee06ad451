SELECT id, dag_id, run_id, state, start_date, end_date
FROM dag_run
WHERE state = 'running' OR state = 'queued'
ORDER BY id
LIMIT ?
