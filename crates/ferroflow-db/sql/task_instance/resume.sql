UPDATE task_instance
SET state = 'scheduled', trigger_id = NULL, trigger_timeout = NULL, next_method = ?, next_kwargs = ?, scheduled_dttm = ?, updated_at = ?
WHERE id = ? AND state = ?
