-- The state is asked for again: it may have changed since the ids were read.
SELECT id, dag_id, run_id
FROM dag_run
WHERE id IN ({in}) AND state = 'running'
{lock_skip:dag_run}
