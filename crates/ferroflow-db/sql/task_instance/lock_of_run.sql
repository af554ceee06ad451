SELECT {columns:task_instance}
FROM task_instance
WHERE dag_id = ? AND run_id = ?
ORDER BY task_id, map_index
{lock:task_instance}
