UPDATE task_instance
SET state = ?, start_date = ?, end_date = ?, duration = ?, updated_at = ?
WHERE id IN ({in}) AND COALESCE(state, '') = ?
