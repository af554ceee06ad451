SELECT {columns:task_instance}
FROM task_instance
WHERE id IN ({in})
{lock_skip:task_instance}
