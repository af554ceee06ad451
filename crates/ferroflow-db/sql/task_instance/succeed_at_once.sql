UPDATE task_instance
SET state = 'success', start_date = ?, end_date = ?, duration = 0, try_number = try_number + 1, updated_at = ?
WHERE id IN ({in}) AND COALESCE(state, '') = ?
