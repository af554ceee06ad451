UPDATE task_instance
SET state = 'scheduled', queued_dttm = NULL, queued_by_job_id = NULL, scheduled_dttm = ?, updated_at = ?
WHERE id = ? AND state = 'queued'
