UPDATE task_instance
SET state = ?, end_date = ?, duration = ?, next_method = NULL, next_kwargs = 'null', updated_at = ?
WHERE id = ? AND state = ?
