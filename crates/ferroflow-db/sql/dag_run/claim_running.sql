-- What was never looked at comes first: false sorts before true.
SELECT id, dag_id, run_id
FROM dag_run
WHERE state = 'running'
ORDER BY last_scheduling_decision IS NOT NULL, last_scheduling_decision, run_after
LIMIT ?
{lock_skip:dag_run}
