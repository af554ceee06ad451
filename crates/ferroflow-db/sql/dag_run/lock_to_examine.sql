SELECT id, last_scheduling_decision
FROM dag_run
WHERE id IN ({in}) AND state = 'running'
{lock_skip:dag_run}
