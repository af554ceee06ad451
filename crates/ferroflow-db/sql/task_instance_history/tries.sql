SELECT COUNT(*) AS total
FROM task_instance_history
WHERE dag_id = ? AND task_id = ? AND run_id = ? AND map_index = ? AND try_number = ?
