SELECT id, pid
FROM task_instance
WHERE id IN ({in}) AND state = 'running' AND hostname = ? AND pid IN ({in})
{lock_skip:task_instance}
