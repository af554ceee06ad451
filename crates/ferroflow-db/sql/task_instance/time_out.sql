-- Until when it would have waited stays to be seen, as in Airflow.
UPDATE task_instance
SET state = 'scheduled', trigger_id = NULL, next_method = ?, next_kwargs = ?, scheduled_dttm = ?, updated_at = ?
WHERE id IN ({in}) AND state = ?
