SELECT id
FROM task_instance
WHERE dag_id = ? AND run_id = ? AND task_id = ? AND map_index = ?
