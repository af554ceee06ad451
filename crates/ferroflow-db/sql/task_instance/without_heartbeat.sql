SELECT id, dag_id, run_id, task_id, map_index, state, try_number, last_heartbeat_at
FROM task_instance
WHERE state IN ('running', 'restarting') AND last_heartbeat_at < ? AND queued_by_job_id = ? AND id > ?
ORDER BY id
LIMIT ?
