SELECT id
FROM task_instance
WHERE id IN ({in}) AND state IN ('queued', 'running', 'restarting')
{lock_skip:task_instance}
