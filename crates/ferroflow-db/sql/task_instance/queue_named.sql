UPDATE task_instance
SET state = 'queued', queued_dttm = ?, queued_by_job_id = ?, external_executor_id = ?, updated_at = ?
WHERE id = ? AND state = 'scheduled'
