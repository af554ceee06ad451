SELECT 1 AS found
FROM task_instance_history
WHERE dag_id = ? AND run_id = ? AND dag_version_id = ?
LIMIT 1
