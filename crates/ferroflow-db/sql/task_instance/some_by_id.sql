SELECT {columns:task_instance}
FROM task_instance
WHERE id IN ({in})
