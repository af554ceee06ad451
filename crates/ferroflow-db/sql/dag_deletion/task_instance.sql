DELETE FROM task_instance WHERE dag_id = ?
