UPDATE task_instance
SET state = NULL, max_tries = ?, start_date = COALESCE(start_date, ?), updated_at = ?
WHERE id = ? AND state = ?
