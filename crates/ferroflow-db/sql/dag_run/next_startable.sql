SELECT run_after AS due
FROM dag_run
WHERE state = 'queued' AND run_after > ?
ORDER BY run_after
LIMIT 1
