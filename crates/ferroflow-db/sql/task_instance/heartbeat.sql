UPDATE task_instance
SET last_heartbeat_at = ?, updated_at = ?
WHERE id IN ({in}) AND state = 'running'
