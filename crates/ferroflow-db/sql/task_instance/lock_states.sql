SELECT id, state
FROM task_instance
WHERE id IN ({in})
{lock_skip:task_instance}
