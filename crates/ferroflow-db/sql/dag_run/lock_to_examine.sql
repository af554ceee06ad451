SELECT last_scheduling_decision
FROM dag_run
WHERE id = ? AND state = 'running'
{lock_skip:dag_run}
