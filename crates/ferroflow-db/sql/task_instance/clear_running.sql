UPDATE task_instance
SET id = ?, state = 'restarting', context_carrier = ?, dag_version_id = ?, updated_at = ?
WHERE id = ? AND state = 'running'
