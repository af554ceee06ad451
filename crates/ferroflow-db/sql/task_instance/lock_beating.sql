SELECT id, pid
FROM task_instance
WHERE id IN ({in}) AND state = 'running' AND hostname = ? AND pid IN ({in})
{pass_over_locked:task_instance}
