UPDATE task_instance
SET state = ?, trigger_id = ?, next_method = ?, next_kwargs = ?, trigger_timeout = ?, updated_at = ?
WHERE id = ? AND state = ?
