SELECT {columns:task_instance_scheduling}
FROM task_instance
WHERE dag_id = ? AND run_id = ?
ORDER BY task_id, map_index
