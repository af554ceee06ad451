UPDATE task_instance
SET state = ?, updated_at = ?
WHERE id IN ({in}) AND COALESCE(state, '') = ?
