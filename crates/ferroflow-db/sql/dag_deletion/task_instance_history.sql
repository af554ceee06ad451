DELETE FROM task_instance_history WHERE dag_id = ?
