UPDATE task_instance
SET state = NULL, updated_at = ?
WHERE id IN ({in}) AND state = 'removed'
