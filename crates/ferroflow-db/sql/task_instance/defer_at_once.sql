UPDATE task_instance
SET state = 'deferred', trigger_id = ?, trigger_timeout = ?, next_method = ?, next_kwargs = ?, start_date = ?,
    try_number = try_number + ?, updated_at = ?
WHERE id = ? AND (state = ? OR (state IS NULL AND ? IS NULL))
