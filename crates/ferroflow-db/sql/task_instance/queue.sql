UPDATE task_instance
SET state = 'queued', queued_dttm = ?, queued_by_job_id = ?, updated_at = ?
WHERE id IN ({in}) AND state = 'scheduled'
