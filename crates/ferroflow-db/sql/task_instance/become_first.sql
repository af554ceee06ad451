UPDATE task_instance
SET map_index = 0, updated_at = ?
WHERE id = ? AND map_index = -1 AND (state = ? OR (state IS NULL AND ? IS NULL))
