SELECT id, dag_id, run_id
FROM dag_run
WHERE state = 'queued'
ORDER BY run_after, id
