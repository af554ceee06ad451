UPDATE task_instance
SET queued_by_job_id = ?, last_heartbeat_at = COALESCE(last_heartbeat_at, ?), updated_at = ?
WHERE id = ? AND state = ? AND queued_by_job_id = ?
