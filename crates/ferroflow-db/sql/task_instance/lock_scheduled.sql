SELECT id
FROM task_instance
WHERE id IN ({in}) AND state = 'scheduled'
{lock:task_instance}
