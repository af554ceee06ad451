SELECT run_id, task_id FROM task_instance WHERE dag_id = ? AND state = 'running' LIMIT 1
