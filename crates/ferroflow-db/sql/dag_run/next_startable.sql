SELECT dag_id, run_id, run_after
FROM dag_run
WHERE state = 'queued' AND run_after > ?
ORDER BY run_after
LIMIT 1
