-- The order of claim_running, without its lock.
SELECT id
FROM dag_run
WHERE state = 'running'
ORDER BY last_scheduling_decision IS NOT NULL, last_scheduling_decision, run_after
LIMIT ?
