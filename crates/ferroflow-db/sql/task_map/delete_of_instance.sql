DELETE FROM task_map
WHERE dag_id = ? AND run_id = ? AND task_id = ? AND map_index = ?
