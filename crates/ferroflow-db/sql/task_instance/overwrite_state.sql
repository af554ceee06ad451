UPDATE task_instance
SET state = ?, updated_at = ?
WHERE id IN ({in}) AND (state = ? OR (state IS NULL AND ? IS NULL))
