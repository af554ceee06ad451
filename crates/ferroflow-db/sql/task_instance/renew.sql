UPDATE task_instance
SET id = ?, next_method = NULL, next_kwargs = 'null', updated_at = ?
WHERE id = ? AND state = 'up_for_retry'
