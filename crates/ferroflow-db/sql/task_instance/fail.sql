UPDATE task_instance
SET state = 'failed', end_date = ?, duration = ?, updated_at = ?
WHERE id = ? AND state = ?
