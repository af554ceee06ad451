UPDATE task_instance
SET state = ?, start_date = ?, end_date = ?, duration = ?, updated_at = ?
WHERE id = ? AND (state = ? OR (state IS NULL AND ? IS NULL))
