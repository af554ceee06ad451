DELETE FROM task_instance
WHERE id = ? AND (state = ? OR (state IS NULL AND ? IS NULL))
