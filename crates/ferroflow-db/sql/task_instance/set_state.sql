UPDATE task_instance
SET state = ?, updated_at = ?
WHERE id = ? AND (state = ? OR (state IS NULL AND ? IS NULL))
