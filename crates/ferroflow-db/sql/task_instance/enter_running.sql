UPDATE task_instance
SET state = 'running', hostname = ?, unixname = ?, pid = ?, start_date = ?, end_date = NULL, last_heartbeat_at = ?,
    retry_delay_override = NULL, retry_reason = NULL, updated_at = ?
WHERE id = ? AND state = ?
