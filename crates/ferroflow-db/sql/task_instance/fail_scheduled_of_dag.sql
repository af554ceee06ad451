UPDATE task_instance
SET state = 'failed', updated_at = ?
WHERE dag_id = ? AND state = 'scheduled'
