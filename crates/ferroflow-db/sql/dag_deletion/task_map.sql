DELETE FROM task_map WHERE dag_id = ?
