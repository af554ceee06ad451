-- The state is asked for again: it may have changed since the ids were read.
SELECT id
FROM dag_run
WHERE id IN ({in}) AND state = 'queued'
{lock_skip:dag_run}
